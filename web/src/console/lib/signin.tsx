import { Alert, Button, Center, Container, Paper, PasswordInput, Stack, Text, TextInput, Title, UnstyledButton } from '@mantine/core';
import { useState, type FormEvent, type ReactNode } from 'react';

import { useCommon } from '../messages/common.js';
import { asProblem } from './api.js';
import { ProblemNote } from './problem.js';

// The body of a sign-in. The second factor is added after the server has asked for it (401 totp_required).
export interface SignInInput { email: string; password: string; totpCode?: string; recoveryCode?: string }

export interface SignInFormProps {
  signIn: (input: SignInInput) => Promise<void>;
  forgot?: (email: string) => Promise<void>;
}

export function SignInForm({ signIn, forgot }: SignInFormProps) {
  const t = useCommon();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [second, setSecond] = useState('');
  const [asks, setAsks] = useState<'nothing' | 'totpCode' | 'recoveryCode'>('nothing');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState(false);

  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (failure) {
      if (asProblem(failure).code === 'totp_required' && asks === 'nothing') setAsks('totpCode');
      else setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(() => signIn({ email, password, ...(asks !== 'nothing' && { [asks]: second.trim() }) }));
  };
  return (
    <form onSubmit={submit} noValidate={false}>
      <Stack gap="sm">
        <TextInput label={t('email')} type="email" name="email" autoComplete="username" required maxLength={254} value={email}
          onChange={(event) => setEmail(event.currentTarget.value)} />
        <PasswordInput label={t('password')} name="password" autoComplete="current-password" required maxLength={128} value={password}
          onChange={(event) => setPassword(event.currentTarget.value)} visibilityToggleButtonProps={{ 'aria-label': t('password') }} />
        {asks !== 'nothing' && (
          <TextInput label={t(asks === 'totpCode' ? 'code' : 'recoveryCode')} name="second" required autoComplete="one-time-code" autoFocus
            inputMode={asks === 'totpCode' ? 'numeric' : 'text'} value={second} onChange={(event) => setSecond(event.currentTarget.value)} />
        )}
        {asks === 'totpCode' && (
          <UnstyledButton className="link" onClick={() => setAsks('recoveryCode')}>{t('useRecovery')}</UnstyledButton>
        )}
        <ProblemNote error={error} />
        {sent && <Alert variant="outline" role="status">{t('forgotSent')}</Alert>}
        <Button type="submit" loading={busy}>{t('signIn')}</Button>
        {forgot && (
          <UnstyledButton className="link" disabled={email === ''} onClick={() => void run(async () => { await forgot(email); setSent(true); })}>
            <Text size="sm">{t('forgot')}</Text>
          </UnstyledButton>
        )}
      </Stack>
    </form>
  );
}

// The page around a form before the sign-in.
export function FrontPage({ title, children, below }: { title: string; children: ReactNode; below?: ReactNode }) {
  return (
    <Center mih="100dvh" component="main" p="md">
      <Container size={420} w="100%" p={0}>
        <Paper withBorder p="lg" radius="md">
          <Title order={1} size="h3" mb="md">{title}</Title>
          {children}
        </Paper>
        {below && <Text size="sm" ta="center" mt="md">{below}</Text>}
      </Container>
    </Center>
  );
}
