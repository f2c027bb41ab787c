import { Center, Loader } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate } from '@tanstack/react-router';
import { createContext, lazy, Suspense, useContext } from 'react';

import type { Administrator, AdminScope } from '../../gen/api.js';
import { asProblem, client, consoleHeader, unwrap } from '../lib/api.js';
import { loadFrame } from '../lib/frame-load.js';
import { ProblemNote } from '../lib/problem.js';
import { setSignedIn, signedInAgain, stayWith } from '../lib/session.js';
import { FrontPage, SignInForm, type SignInInput } from '../lib/signin.js';
import { useAdmin } from '../messages/admin.js';
import { useCommon } from '../messages/common.js';
import { usePlaces } from './places.js';

const Frame = lazy(loadFrame);

const AdminContext = createContext<Administrator | null>(null);

// Reports whether the admin's role has a scope. The server checks it again.
export function useMay(): (scope: AdminScope) => boolean {
  const admin = useContext(AdminContext);
  return (scope) => admin?.scopes.includes(scope) ?? false;
}

// The admin who has signed in.
export function useMyID(): string {
  return useContext(AdminContext)?.id ?? '';
}

async function signIn(input: SignInInput): Promise<string> {
  const { admin } = await unwrap(client.POST('/v1/admin/auth/console/login', { params: { header: consoleHeader }, body: input }));
  return admin.id;
}

// Shows the sign-in, or the frame with the screen of the path.
export function Gate() {
  const t = useAdmin();
  const common = useCommon();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const admin = useQuery({
    queryKey: ['admin'],
    queryFn: async () => {
      const me = await unwrap(client.GET('/v1/admin/auth/me'));
      await stayWith(me.id);
      setSignedIn(me.id);
      return me;
    },
  });
  const groups = usePlaces();
  const again = () => queries.resetQueries({ queryKey: ['admin'] });

  if (admin.isPending) return <Center mih="100dvh" aria-label={common('loading')} role="status"><Loader /></Center>;
  if (!admin.data) {
    if (asProblem(admin.error).status !== 401) {
      return <FrontPage title={t('title')}><ProblemNote error={admin.error} onRetry={() => void again()} /></FrontPage>;
    }
    return (
      <FrontPage title={t('signInTitle')}><SignInForm signIn={async (input) => { await signIn(input); await again(); }} /></FrontPage>
    );
  }
  const signOut = async () => {
    setSignedIn(null);
    try {
      await unwrap(client.POST('/v1/admin/auth/console/logout', { params: { header: consoleHeader } }));
    } finally {
      await navigate({ to: '/' });
      await again();
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'admin' }); // data of the user who has left
    }
  };
  return (
    <AdminContext value={admin.data}>
      <Suspense fallback={<Center mih="100dvh"><Loader /></Center>}>
        <Frame title={t('title')} groups={admin.data.scopes.includes('admin:read') ? groups : []} user={admin.data.email} signOut={() => void signOut()}
          signIn={<SignInForm signIn={async (input) => signedInAgain(await signIn(input))} />}>
          <Outlet />
        </Frame>
      </Suspense>
    </AdminContext>
  );
}
