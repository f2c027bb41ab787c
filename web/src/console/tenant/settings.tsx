import { Button, PasswordInput, Stack } from '@mantine/core';
import { useState, type FormEvent } from 'react';

import { asProblem, client, unwrap } from '../lib/api.js';
import { Heading, Section, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useConsole } from '../messages/console.js';
import { BrandForm } from './brand-form.js';
import { signIn } from './gate.js';
import { useIdentity, useMayCall } from './identity.js';

export default function Settings() {
  const t = useConsole();
  const mayCall = useMayCall();
  return <Stack maw={560}><Heading title={t('settings')} /><Organisation />{mayCall('changePassword') && <Password />}</Stack>;
}

function Organisation() {
  const t = useConsole();
  return <Section title={t('organisation')}><BrandForm /></Section>;
}

// A new password revokes the session's token, so the page signs in with it at once.
function Password() {
  const t = useConsole();
  const { user } = useIdentity();
  const [currentPassword, setCurrent] = useState('');
  const [newPassword, setNext] = useState('');
  const change = useChange(async () => {
    await unwrap(client.POST('/v1/me/change-password', { body: { currentPassword, newPassword } }));
    try {
      await signIn({ email: user?.email ?? '', password: newPassword });
    } catch (error) { // with a second factor, the next request opens the sign-in, which asks for a code
      if (asProblem(error).code !== 'totp_required') throw error;
    }
  }, { shows: true, done: t('passwordChanged'), after: () => { setCurrent(''); setNext(''); } });
  return (
    <Section title={t('changePassword')}>
      <form onSubmit={(event: FormEvent) => { event.preventDefault(); change.mutate(undefined); }}>
        <Stack gap="sm">
          <PasswordInput label={t('currentPassword')} required autoComplete="current-password" value={currentPassword}
            visibilityToggleButtonProps={{ 'aria-label': t('currentPassword') }} onChange={(event) => setCurrent(event.currentTarget.value)} />
          <PasswordInput label={t('newPassword')} description={t('passwordHint')} required minLength={10} maxLength={128} autoComplete="new-password"
            value={newPassword} visibilityToggleButtonProps={{ 'aria-label': t('newPassword') }} onChange={(event) => setNext(event.currentTarget.value)} />
          <ProblemNote error={change.error} />
          <Button type="submit" variant="default" loading={change.isPending}>{t('changePassword')}</Button>
        </Stack>
      </form>
    </Section>
  );
}
