import { Select, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import type { CallKind } from '../../gen/api.js';
import { newActionKey } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCalls } from '../messages/calls.js';

// Rings a user for another one. Both are users of the tenant's own system, so the form asks for their ids.
export function NewCall({ close }: { close: () => void }) {
  const t = useCalls();
  const navigate = useNavigate();
  const [form, setForm] = useState({ from: '', name: '', to: '', project: '', kind: 'video' as CallKind });
  // A repeated request with the same content rings once.
  const [actionKey, setActionKey] = useState(newActionKey);
  const set = (change: Partial<typeof form>) => { setForm((was) => ({ ...was, ...change })); setActionKey(newActionKey()); };
  const same = form.from !== '' && form.from === form.to;
  const invite = useChange(() => unwrap(client.POST('/v1/me/calls/invite', {
    params: { header: { 'Idempotency-Key': actionKey } },
    body: {
      fromUserId: form.from, toUserId: form.to, kind: form.kind, ...(form.name.trim() && { fromDisplayName: form.name.trim() }),
      ...(form.project.trim() && { projectId: form.project.trim() }),
    },
  })), { shows: true, after: ({ sessionId }) => { close(); void navigate({ to: '/sessions/$id', params: { id: sessionId } as never }); } });
  const faults = fieldErrors(invite.error);
  return (
    <FormModal title={t('newCall')} open close={close} submit={() => { if (!same) invite.mutate(undefined); }} busy={invite.isPending}
      error={invite.error} action={t('ring')}>
      <Text size="sm" c="dimmed">{t('newCallText')}</Text>
      <TextInput label={t('from')} name="fromUserId" required maxLength={128} value={form.from} error={faults.fromUserId} data-autofocus
        onChange={(event) => set({ from: event.currentTarget.value })} />
      <TextInput label={t('fromName')} description={t('fromNameHint')} name="fromDisplayName" maxLength={120} value={form.name}
        error={faults.fromDisplayName}
        onChange={(event) => set({ name: event.currentTarget.value })} />
      <TextInput label={t('to')} name="toUserId" required maxLength={128} value={form.to} error={same ? t('same') : faults.toUserId}
        onChange={(event) => set({ to: event.currentTarget.value })} />
      <Select label={t('kind')} value={form.kind} allowDeselect={false} error={faults.kind}
        onChange={(next) => set({ kind: next as CallKind })}
        data={[{ value: 'video', label: t('video') }, { value: 'voice', label: t('voice') }]} />
      <TextInput label={t('project')} description={t('projectHint')} name="projectId" maxLength={64} value={form.project}
        error={faults.projectId}
        onChange={(event) => set({ project: event.currentTarget.value })} />
    </FormModal>
  );
}
