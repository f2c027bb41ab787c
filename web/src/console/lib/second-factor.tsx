import { Alert, Button, Code, Group, Modal, PasswordInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { RecoveryCodes, Totp, TotpCodeInput, TotpPasswordInput, TotpProofInput, TotpSetup } from '../../gen/api.js';
import { useCommon } from '../messages/common.js';
import { useSecurity } from '../messages/security.js';
import { download } from './csv.js';
import { time } from './format.js';
import { FormModal, Section, useChange } from './parts.js';
import { CopyText, ProblemNote } from './problem.js';
import { QrCode } from './qr.js';

const fewCodes = 3;

type Dialog = 'setup' | 'renew' | 'disable';

// The operations of a user's or an admin's own second factor.
export interface FactorOperations {
  begin: (body: TotpPasswordInput) => Promise<TotpSetup>;
  confirm: (body: TotpCodeInput) => Promise<RecoveryCodes>;
  renew: (body: TotpProofInput) => Promise<RecoveryCodes>;
  disable: (body: TotpProofInput) => Promise<unknown>;
}

export interface SecondFactorProps {
  state: { data?: Totp; error: unknown; refetch: () => unknown };
  operations: FactorOperations;
  // The operations that are offered.
  may: Record<Dialog, boolean>;
  offText: string;
}

export function SecondFactor({ state, operations, may, offText }: SecondFactorProps) {
  const t = useSecurity();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const close = () => setDialog(null);
  const show = (made: string[]) => { close(); setCodes(made); };
  const totp = state.data;
  return (
    <Section title={t('secondFactor')}>
      <ProblemNote error={state.error} onRetry={() => void state.refetch()} />
      {totp && (
        <Stack gap="sm" align="start">
          <Text size="sm">{totp.enabled ? t('onText', { at: time(totp.enabledAt) }) : offText}</Text>
          {totp.enabled && <Text size="sm">{t('codesLeft', { n: totp.recoveryCodesLeft })}</Text>}
          {totp.enabled && totp.recoveryCodesLeft <= fewCodes && <Alert variant="outline" color="orange">{t('fewCodes')}</Alert>}
          {totp.enabled && (
            <Group gap="xs">
              {may.renew && <Button size="xs" variant="default" onClick={() => setDialog('renew')}>{t('renew')}</Button>}
              {may.disable && <Button size="xs" color="red.9" onClick={() => setDialog('disable')}>{t('disable')}</Button>}
            </Group>
          )}
          {!totp.enabled && may.setup && <Button size="xs" onClick={() => setDialog('setup')}>{t('enable')}</Button>}
        </Stack>
      )}
      {dialog === 'setup' && <SetUp operations={operations} close={close} done={show} />}
      {(dialog === 'renew' || dialog === 'disable') && <Prove operations={operations} of={dialog} close={close} done={show} />}
      <Codes codes={codes} close={() => setCodes([])} />
    </Section>
  );
}

interface StepProps { operations: FactorOperations; close: () => void; done: (codes: string[]) => void }

// First the password, then the key for the app with a field for its first code.
function SetUp({ operations, close, done }: StepProps) {
  const t = useSecurity();
  const common = useCommon();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [setup, setSetup] = useState<TotpSetup | null>(null);
  const begin = useChange(() => operations.begin({ password }), { shows: true, after: setSetup });
  const confirm = useChange(() => operations.confirm({ code: code.trim() }), {
    shows: true, done: t('enabled'), after: ({ recoveryCodes }) => done(recoveryCodes),
  });
  if (!setup) {
    return (
      <FormModal title={t('enableTitle')} open close={close} submit={() => begin.mutate(undefined)} busy={begin.isPending} error={begin.error} action={t('next')}>
        <Text size="sm">{t('passwordFirst')}</Text>
        <PasswordInput label={common('password')} name="currentPassword" required autoComplete="current-password" value={password} data-autofocus
          visibilityToggleButtonProps={{ 'aria-label': common('password') }} onChange={(event) => setPassword(event.currentTarget.value)} />
      </FormModal>
    );
  }
  return (
    <FormModal title={t('enableTitle')} open close={close} submit={() => confirm.mutate(undefined)} busy={confirm.isPending} error={confirm.error} action={t('confirm')}>
      <Text size="sm">{t('scan')}</Text>
      <Group justify="center"><QrCode text={setup.otpauthUrl} label={t('qr')} /></Group>
      <Text size="sm">{t('byHand')}</Text>
      <Group gap="xs"><Code data-testid="totp-secret">{setup.secret}</Code><CopyText text={setup.secret} /></Group>
      <TextInput label={t('firstCode')} name="code" required inputMode="numeric" autoComplete="one-time-code" maxLength={6} value={code} data-autofocus
        description={t('validUntil', { at: time(setup.expiresAt) })} onChange={(event) => setCode(event.currentTarget.value)} />
    </FormModal>
  );
}

function Prove({ operations, of, close, done }: StepProps & { of: 'renew' | 'disable' }) {
  const t = useSecurity();
  const common = useCommon();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const run = useChange(async (): Promise<string[]> => {
    const body = { password, code: code.trim() };
    if (of === 'renew') return (await operations.renew(body)).recoveryCodes;
    await operations.disable(body);
    return [];
  }, { shows: true, ...(of === 'disable' && { done: t('disabled') }), after: done });
  return (
    <FormModal title={t(of)} open close={close} submit={() => run.mutate(undefined)} busy={run.isPending} error={run.error} action={t(of)}>
      <Text size="sm">{t(of === 'renew' ? 'renewText' : 'disableText')}</Text>
      <PasswordInput label={common('password')} name="currentPassword" required autoComplete="current-password" value={password} data-autofocus
        visibilityToggleButtonProps={{ 'aria-label': common('password') }} onChange={(event) => setPassword(event.currentTarget.value)} />
      <TextInput label={t('proofCode')} name="code" required autoComplete="one-time-code" maxLength={32} value={code}
        onChange={(event) => setCode(event.currentTarget.value)} />
    </FormModal>
  );
}

function Codes({ codes, close }: { codes: string[]; close: () => void }) {
  const t = useSecurity();
  const text = codes.join('\n');
  return (
    <Modal opened={codes.length > 0} onClose={close} title={t('codesTitle')} withCloseButton={false} closeOnClickOutside={false} closeOnEscape={false}>
      <Stack>
        <Text size="sm">{t('codesText')}</Text>
        <SimpleGrid cols={2} spacing="xs" data-testid="recovery-codes">{codes.map((code) => <Code key={code} ta="center">{code}</Code>)}</SimpleGrid>
        <Group gap="xs">
          <CopyText text={text} />
          <Button size="compact-xs" variant="default" onClick={() => download('recovery-codes.txt', `${text}\n`, 'text/plain')}>{t('download')}</Button>
        </Group>
        <Button onClick={close}>{t('codesKept')}</Button>
      </Stack>
    </Modal>
  );
}
