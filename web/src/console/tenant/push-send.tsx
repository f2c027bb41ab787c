import { Alert, Card, Group, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';

import { client, unwrap } from '../lib/api.js';
import { number } from '../lib/format.js';
import { FormModal, notify, useChange, useConfirm } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { usePush } from '../messages/push.js';
import { useIdentity } from './identity.js';

export function SendPush({ project, close }: { project: string; close: () => void }) {
  const t = usePush();
  const common = useCommon();
  const confirm = useConfirm();
  const [title, setTitle] = useState('');
  const [body, setBody] = useState('');
  const [users, setUsers] = useState('');
  const userIds = [...new Set(users.split(/[\r\n]+/).map((id) => id.trim()).filter(Boolean))];
  const send = useChange(() => unwrap(client.POST('/v1/me/push/notify', { body: { projectId: project, title, body, userIds } })), {
    shows: true, after: ({ attempted, delivered, pending }) => { notify(t('sent', { attempted, delivered, pending }), common('close')); close(); },
  });
  const faults = fieldErrors(send.error);
  const submit = () => confirm(t('sendAction'), t('confirmText', { n: number(userIds.length) }), () => send.mutate(undefined));
  return (
    <FormModal title={t('send')} open close={close} submit={submit} busy={send.isPending} error={send.error} action={t('sendAction')}>
      <Textarea label={t('users')} name="users" description={t('usersHint')} required autosize minRows={2} maxRows={6} value={users} error={faults.userIds} data-autofocus
        onChange={(event) => setUsers(event.currentTarget.value)} />
      <TextInput label={t('subject')} name="title" required maxLength={200} value={title} error={faults.title} onChange={(event) => setTitle(event.currentTarget.value)} />
      <Textarea label={t('body')} name="body" required maxLength={2000} autosize minRows={2} maxRows={8} value={body} error={faults.body}
        onChange={(event) => setBody(event.currentTarget.value)} />
      <Text size="sm" fw={500}>{t('preview')}</Text>
      <Preview title={title} body={body} />
    </FormModal>
  );
}

// The notification as a phone shows it, roughly.
function Preview({ title, body }: { title: string; body: string }) {
  const t = usePush();
  const { tenant } = useIdentity();
  return (
    <Card withBorder radius="lg" padding="sm" data-testid="push-preview">
      <Group justify="space-between" gap="xs" mb={4} wrap="nowrap"><Text size="xs" c="dimmed" truncate>{tenant.name}</Text><Text size="xs" c="dimmed">{t('now')}</Text></Group>
      <Text size="sm" fw={600} lineClamp={1}>{title || t('subject')}</Text>
      <Text size="sm" lineClamp={4} className="prose">{body || t('body')}</Text>
    </Card>
  );
}

export function TestDevice({ project, close }: { project: string; close: () => void }) {
  const t = usePush();
  const [token, setToken] = useState('');
  const test = useChange(() => unwrap(client.POST('/v1/me/push/projects/{projectId}/credentials/test', {
    params: { path: { projectId: project } }, body: { token: token.trim() },
  })), { shows: true });
  return (
    <FormModal title={t('test')} open close={close} submit={() => test.mutate(undefined)} busy={test.isPending} error={test.error} action={t('testAction')}>
      <Text size="sm">{t('testText')}</Text>
      <TextInput label={t('token')} name="token" required maxLength={1024} value={token} data-autofocus onChange={(event) => setToken(event.currentTarget.value)} />
      {test.data && <Alert variant="outline" role="status" color={test.data.outcome === 'delivered' ? 'brand' : 'red'} title={test.data.message} />}
    </FormModal>
  );
}

export function RemoveDevice({ close }: { close: () => void }) {
  const t = usePush();
  const [token, setToken] = useState('');
  const remove = useChange(() => unwrap(client.DELETE('/v1/me/push/devices/{token}', { params: { path: { token: token.trim() } } })), {
    shows: true, done: t('removed'), after: close,
  });
  return (
    <FormModal title={t('remove')} open close={close} submit={() => remove.mutate(undefined)} busy={remove.isPending} error={remove.error} action={t('removeAction')}>
      <Text size="sm">{t('removeText')}</Text>
      <TextInput label={t('token')} name="token" required maxLength={1024} value={token} data-autofocus onChange={(event) => setToken(event.currentTarget.value)} />
    </FormModal>
  );
}
