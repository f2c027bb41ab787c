import { Button, PasswordInput, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useState, type FormEvent } from 'react';

import { client, unwrap } from '../lib/api.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { signIn } from './gate.js';

const fields = [
  { name: 'tenantName', label: 'tenantName', type: 'text', complete: 'organization' },
  { name: 'name', label: 'yourName', type: 'text', complete: 'name' },
] as const;

// Sign-up in two steps: the form, then the code that was mailed to its address.
export function SignUp({ done }: { done: () => void }) {
  const t = useConsole();
  const common = useCommon();
  const [form, setForm] = useState({ tenantName: '', name: '', email: '', password: '' });
  const [code, setCode] = useState('');
  const [step, setStep] = useState<'form' | 'code'>('form');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const faults = fieldErrors(error);

  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      if (step === 'form') {
        await unwrap(client.POST('/v1/auth/send-code', { body: form }));
        setStep('code');
        return;
      }
      await unwrap(client.POST('/v1/auth/verify-and-register', { body: { email: form.email, code: code.trim() } }));
      await signIn({ email: form.email, password: form.password });
      done();
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {step === 'form' ? (
          <>
            {fields.map(({ name, label, complete }) => (
              <TextInput key={name} label={t(label)} name={name} required maxLength={120} autoComplete={complete} value={form[name]} error={faults[name]}
                onChange={(event) => { const { value } = event.currentTarget; setForm((was) => ({ ...was, [name]: value })); }} />
            ))}
            <TextInput label={common('email')} name="email" type="email" required maxLength={254} autoComplete="username" value={form.email} error={faults.email}
              onChange={(event) => { const { value } = event.currentTarget; setForm((was) => ({ ...was, email: value })); }} />
            <PasswordInput label={common('password')} name="password" description={t('passwordHint')} required minLength={10} maxLength={128} autoComplete="new-password"
              value={form.password} error={faults.password} visibilityToggleButtonProps={{ 'aria-label': common('password') }}
              onChange={(event) => { const { value } = event.currentTarget; setForm((was) => ({ ...was, password: value })); }} />
          </>
        ) : (
          <>
            <Text size="sm" role="status">{t('codeSent', { email: form.email })}</Text>
            <TextInput label={t('codeLabel')} name="code" required autoFocus inputMode="numeric" autoComplete="one-time-code" value={code}
              onChange={(event) => setCode(event.currentTarget.value)} />
            <UnstyledButton className="link" onClick={() => void run(async () => {
              await unwrap(client.POST('/v1/auth/resend-code', { body: { email: form.email } }));
            })}>{t('resend')}</UnstyledButton>
          </>
        )}
        <ProblemNote error={error} />
        <Button type="submit" loading={busy}>{step === 'form' ? t('sendCode') : t('confirmCode')}</Button>
      </Stack>
    </form>
  );
}
