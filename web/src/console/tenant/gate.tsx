import { Center, Loader, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';

import type { Identity } from '../../gen/api.js';
import { asProblem, client, consoleHeader, unwrap } from '../lib/api.js';
import { loadFrame } from '../lib/frame-load.js';
import { dropToken, impersonationHasEnded, impersonationToken, revokeImpersonation, useImpersonationEnded } from '../lib/impersonation.js';
import { ProblemNote } from '../lib/problem.js';
import { setSignedIn, signedInAgain, stayWith } from '../lib/session.js';
import { FrontPage, SignInForm, type SignInInput } from '../lib/signin.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { IdentityContext } from './identity.js';
import { usePlaces } from './places.js';
import { SignUp } from './signup.js';

const Live = lazy(() => import('./live.js'));
const ImpersonationBanner = lazy(() => import('./impersonation-banner.js'));

const Frame = lazy(loadFrame);

export async function signIn(input: SignInInput): Promise<string> {
  const { user } = await unwrap(client.POST('/v1/auth/console/login', { params: { header: consoleHeader }, body: input }));
  return user.id;
}

const forgot = async (email: string) => { await unwrap(client.POST('/v1/auth/forgot-password', { body: { email } })); };

let impersonates = false;

// The identity of the page's first token or cookie. A token that isn't an impersonation's, or that the server doesn't know, is dropped.
async function getIdentity(): Promise<Identity> {
  const ask = () => unwrap(client.GET('/v1/me'));
  if (!impersonationToken() || impersonates) return ask();
  const me = await ask().catch((error: unknown) => {
    if (asProblem(error).status !== 401 || impersonationHasEnded()) throw error;
    return null;
  });
  impersonates = me?.impersonation !== undefined;
  if (me && impersonates) return me;
  dropToken();
  return ask();
}

// Shows the sign-in, or the frame with the screen of the path.
export function Gate() {
  const t = useConsole();
  const common = useCommon();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const identity = useQuery({
    queryKey: ['identity'],
    queryFn: async () => {
      const me = await getIdentity();
      await stayWith(`${me.tenant.id} ${me.user?.id ?? ''}`);
      setSignedIn(me.user?.id ?? null);
      return me;
    },
  });
  const groups = usePlaces((scope) => identity.data?.scopes.includes(scope) ?? false, !!identity.data?.user);
  const ended = useImpersonationEnded();
  const again = () => queries.resetQueries({ queryKey: ['identity'] });

  if (ended) return <FrontPage title={t('impersonationEnded')}><Text>{t('impersonationEndedText')}</Text></FrontPage>;
  if (identity.isPending) return <Center mih="100dvh" aria-label={common('loading')} role="status"><Loader /></Center>;
  if (!identity.data) {
    if (asProblem(identity.error).status !== 401) {
      return <FrontPage title={t('title')}><ProblemNote error={identity.error} onRetry={() => void again()} /></FrontPage>;
    }
    if (pathname === '/signup') {
      return (
        <FrontPage title={t('signUpTitle')} below={<>{t('haveAccount')} <Link className="link" to="/">{common('signIn')}</Link></>}>
          <SignUp done={() => { void navigate({ to: '/' }).then(again); }} />
        </FrontPage>
      );
    }
    return (
      <FrontPage title={t('signInTitle')} below={<>{t('noAccount')} <Link className="link" to="/signup">{t('signUp')}</Link></>}>
        <SignInForm signIn={async (input) => { await signIn(input); await again(); }} forgot={forgot} />
      </FrontPage>
    );
  }
  const { impersonation } = identity.data;
  const signOut = async () => {
    if (impersonation) {
      revokeImpersonation();
      return;
    }
    setSignedIn(null);
    try {
      await unwrap(client.POST('/v1/auth/console/logout', { params: { header: consoleHeader } }));
    } finally {
      await navigate({ to: '/' });
      await again();
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'identity' }); // data of the user who has left
    }
  };
  return (
    <IdentityContext value={identity.data}>
      <Suspense fallback={<Center mih="100dvh"><Loader /></Center>}>
        <Frame title={identity.data.tenant.name} groups={groups} user={identity.data.user?.name ?? ''} signOut={() => void signOut()}
          signIn={<SignInForm signIn={async (input) => signedInAgain(await signIn(input))} />}>
          {impersonation && <ImpersonationBanner state={impersonation} />}
          <Outlet />
          {identity.data.scopes.includes('webhooks:read') && <Suspense fallback={null}><Live tenantID={identity.data.tenant.id} /></Suspense>}
        </Frame>
      </Suspense>
    </IdentityContext>
  );
}
