import { Alert, Button, Code, Group, MultiSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { ApiKey, Scope } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { time } from '../lib/format.js';
import { Empty, FormModal, Heading, Status, useChange, useConfirm } from '../lib/parts.js';
import { CopyText, fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useStates } from '../messages/states.js';
import { useMay, useMayCall } from './identity.js';
import { scopes as allScopes } from './scopes.js';

const stateOf = ({ revokedAt }: ApiKey) => (revokedAt ? 'REVOKED' : 'ACTIVE');

export default function Keys() {
  const t = useConsole();
  const common = useCommon();
  const states = useStates();
  const may = useMay();
  const mayCall = useMayCall();
  const confirm = useConfirm();
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<ApiKey | null>(null);
  const list = useCursorList<ApiKey>(['keys'], (query, signal) => client.GET('/v1/me/api-keys', { params: { query }, signal }));
  const revoke = useChange((id: string) => unwrap(client.DELETE('/v1/me/api-keys/{id}', { params: { path: { id } } })), { done: t('revoked') });
  return (
    <Stack gap={0}>
      <Heading title={t('keys')}>
        {mayCall('createApiKey') && <Button size="xs" onClick={() => setCreating(true)} data-testid="new-key">{t('newKey')}</Button>}
      </Heading>
      {made?.key && (
        <Alert variant="outline" color="brand" title={t('keyCreated')} mb="md" role="status">
          {t('keyText')}
          <Group gap="xs" mt="xs"><Code data-testid="api-key">{made.key}</Code><CopyText text={made.key} /></Group>
        </Alert>
      )}
      <CursorList name="api-keys" label={t('keys')} list={list}
        empty={<Empty text={t('noKeys')} />}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'key', title: t('keys'), value: ({ prefix, last4 }) => `${prefix}…${last4}`, render: ({ prefix, last4 }) => <Code>{`${prefix}…${last4}`}</Code> },
          { key: 'status', title: common('status'), value: stateOf, render: (key) => <Status of={stateOf(key)} label={states(stateOf(key))} />, wide: true },
          { key: 'used', title: t('lastUsed'), value: ({ lastUsedAt }) => lastUsedAt, render: ({ lastUsedAt }) => time(lastUsedAt), wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
        ]}
        actions={({ id, revokedAt }) => !revokedAt && may('keys:write')
          && <Button size="compact-xs" variant="default" onClick={() => confirm(t('revoke'), t('revokeText'), () => revoke.mutate(id))}>{t('revoke')}</Button>} />
      <NewKey open={creating} close={() => setCreating(false)} made={setMade} />
    </Stack>
  );
}

function NewKey({ open, close, made }: { open: boolean; close: () => void; made: (key: ApiKey) => void }) {
  const t = useConsole();
  const common = useCommon();
  const may = useMay();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>([]);
  const create = useChange(() => unwrap(client.POST('/v1/me/api-keys', { body: { name, ...(scopes.length > 0 && { scopes: scopes as Scope[] }) } })), {
    shows: true, after: (key) => { made(key); setName(''); setScopes([]); close(); },
  });
  return (
    <FormModal title={t('newKey')} open={open} close={close} submit={() => create.mutate(undefined)} busy={create.isPending} error={create.error} action={common('create')}>
      <TextInput label={common('name')} name="name" required value={name} data-autofocus error={fieldErrors(create.error).name}
        onChange={(event) => setName(event.currentTarget.value)} />
      <MultiSelect label={t('scopes')} description={t('scopesHint')} data={allScopes.filter((scope) => may(scope))} value={scopes} onChange={setScopes} searchable clearable />
    </FormModal>
  );
}
