import { Select, Switch, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { CloudPushServiceAccount, PushCredentials } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { usePush } from '../messages/push.js';

interface Props { project: string; credentials: PushCredentials; close: () => void }

// Fields that are left empty keep the stored value. The server never shows the key.
export function IosForm({ project, credentials, close }: Props) {
  const t = usePush();
  const common = useCommon();
  const [form, setForm] = useState({ bundle: credentials.iosPushBundleId ?? '', keyId: '', team: '', key: '' });
  const [production, setProduction] = useState(credentials.iosPushProduction);
  const [enabled, setEnabled] = useState(credentials.iosPushEnabled || !credentials.iosPushConfigured);
  const set = (change: Partial<typeof form>) => setForm((was) => ({ ...was, ...change }));
  const save = useChange(() => unwrap(client.POST('/v1/me/push/projects/{projectId}/credentials/ios-push', {
    params: { path: { projectId: project } },
    body: {
      iosPushEnabled: enabled, iosPushProduction: production, ...(form.bundle && { iosPushBundleId: form.bundle.trim() }),
      ...(form.keyId && { iosPushKeyId: form.keyId.trim() }), ...(form.team && { iosPushTeamId: form.team.trim() }),
      ...(form.key && { iosPushPrivateKey: form.key }),
    },
  })), { shows: true, done: t('setDone'), after: close });
  const faults = fieldErrors(save.error);
  const hint = credentials.iosPushConfigured ? t('keptSecret') : undefined;
  return (
    <FormModal title={t('iosTitle')} open close={close} submit={() => save.mutate(undefined)} busy={save.isPending} error={save.error} action={common('save')}>
      <TextInput label={t('bundle')} name="bundle" maxLength={155} value={form.bundle} error={faults.iosPushBundleId} placeholder="com.example.shop" data-autofocus
        onChange={(event) => set({ bundle: event.currentTarget.value })} />
      <TextInput label={t('teamId')} name="teamId" maxLength={32} value={form.team} error={faults.iosPushTeamId} onChange={(event) => set({ team: event.currentTarget.value })} />
      <TextInput label={t('keyId')} name="keyId" maxLength={32} value={form.keyId} error={faults.iosPushKeyId} onChange={(event) => set({ keyId: event.currentTarget.value })} />
      <Textarea label={t('privateKey')} name="privateKey" description={hint} maxLength={8192} autosize minRows={4} maxRows={8} autoComplete="off" spellCheck={false}
        value={form.key} error={faults.iosPushPrivateKey} onChange={(event) => set({ key: event.currentTarget.value })} />
      <Select label="APNs" value={production ? 'production' : 'sandbox'} allowDeselect={false} onChange={(next) => setProduction(next === 'production')}
        data={[{ value: 'sandbox', label: t('sandbox') }, { value: 'production', label: t('production') }]} />
      <Switch label={t('enabled')} checked={enabled} onChange={(event) => setEnabled(event.currentTarget.checked)} />
    </FormModal>
  );
}

export function CloudForm({ project, credentials, close }: Props) {
  const t = usePush();
  const common = useCommon();
  const [account, setAccount] = useState('');
  const [enabled, setEnabled] = useState(credentials.cloudPushEnabled || !credentials.cloudPushConfigured);
  const parsed = account.trim() ? parseAccount(account) : undefined;
  const save = useChange(() => unwrap(client.POST('/v1/me/push/projects/{projectId}/credentials/cloud-push', {
    params: { path: { projectId: project } }, body: { cloudPushEnabled: enabled, ...(parsed && { cloudPushServiceAccount: parsed }) },
  })), { shows: true, done: t('setDone'), after: close });
  const bad = parsed === null ? t('badAccount') : undefined;
  return (
    <FormModal title={t('cloudTitle')} open close={close} submit={() => { if (!bad) save.mutate(undefined); }} busy={save.isPending} error={save.error} action={common('save')}>
      <Textarea label={t('account')} name="account" description={credentials.cloudPushConfigured ? t('keptSecret') : undefined} autosize minRows={6} maxRows={12}
        autoComplete="off" spellCheck={false} value={account} error={bad ?? fieldErrors(save.error).cloudPushServiceAccount} data-autofocus
        onChange={(event) => setAccount(event.currentTarget.value)} />
      <Switch label={t('enabled')} checked={enabled} onChange={(event) => setEnabled(event.currentTarget.checked)} />
    </FormModal>
  );
}

// The object of a service account's file, or null. The server checks its fields.
function parseAccount(text: string): CloudPushServiceAccount | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as CloudPushServiceAccount : null;
  } catch {
    return null;
  }
}
