import { Alert, Button, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';

import { api, client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { keepNewKey, newKeyOf } from '../lib/new-keys.js';
import { Figure, FormModal, Heading, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { CopyText, fieldErrors } from '../lib/problem.js';
import { useAdminAccess } from '../messages/admin-access.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { ActAsAppButton } from './impersonate.js';
import { Rows, Tag } from './shown.js';

export default function AppPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useAdminAccess();
  const common = useCommon();
  const may = useMay();
  const confirm = useConfirm();
  const [creating, setCreating] = useState(false);
  const [whole, setWhole] = useState(newKeyOf(id));
  const query = api.useQuery('get', '/v1/admin/first-party-apps/{id}', { params: { path: { id } } }, { refetchInterval: 30_000 });
  const revoke = useChange((keyId: string) => unwrap(client.DELETE('/v1/admin/first-party-apps/{id}/keys/{keyId}',
    { params: { path: { id, keyId } } })), { done: common('done') });
  if (!query.data) return <Waiting query={query} />;
  const { app, stats, keys, webhooks } = query.data;
  const mayWrite = may('admin:write');
  return (
    <Stack>
      <Heading title={app.name}><Tag of={app.status} />{mayWrite && app.status === 'ACTIVE' && <ActAsAppButton id={id} />}{mayWrite && <Button size="xs" onClick={() => setCreating(true)}
        data-testid="new-key">{t('newKey')}</Button>}</Heading>
      {app.description && <Text size="sm">{app.description}</Text>}
      {whole && (
        <Alert variant="outline" color="brand" title={t('keyShown')} role="status">
          {t('keyText')}<Group gap="xs" mt="xs"><Code data-testid="api-key">{whole}</Code><CopyText text={whole} /></Group>
        </Alert>
      )}
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('apiCalls')} value={number(stats.apiCalls)} />
        <Figure label={t('streams')} value={number(stats.streams)} note={t('onAir', { n: number(stats.liveStreams) })} />
        <Figure label={t('minutesLive')} value={number(Math.round(stats.minutesLive))} />
        <Figure label={t('minutesWatched')} value={number(Math.round(stats.minutesWatched))} />
      </SimpleGrid>
      <Rows title={t('keys')} empty={t('noKeys')} head={[common('name'), t('key'), common('status'), t('lastUsed'), common('created'),
        common('actions')]}
        rows={keys.map((key) => ({
          key: key.id,
          cells: [key.name, <Code key="key">{`${key.prefix}…${key.last4}`}</Code>, <Tag key="status"
            of={key.revokedAt ? 'REVOKED' : 'ACTIVE'} />, time(key.lastUsedAt), time(key.createdAt),
            mayWrite && !key.revokedAt && (
              <Button key="revoke" size="compact-xs" variant="default"
                onClick={() => confirm(t('revoke'), t('revokeText'), () => revoke.mutate(key.id))}>{t('revoke')}</Button>
            )],
        }))} />
      <Rows title={t('webhooks')} head={[t('endpoint'), common('status')]}
        rows={webhooks.map((hook) => ({ key: hook.id, cells: [hook.url, <Tag key="status" of={hook.status} />] }))} />
      <NewKey id={id} open={creating} close={() => setCreating(false)} made={(key) => { keepNewKey(id, key); setWhole(key); }} />
    </Stack>
  );
}

function NewKey({ id, open, close, made }: { id: string; open: boolean; close: () => void; made: (key: string) => void }) {
  const t = useAdminAccess();
  const common = useCommon();
  const [name, setName] = useState('');
  const create = useChange(() => unwrap(client.POST('/v1/admin/first-party-apps/{id}/keys', { params: { path: { id } }, body: { name } })),
    {
    shows: true, after: ({ key }) => { made(key ?? ''); setName(''); close(); },
  });
  return (
    <FormModal title={t('newKey')} open={open} close={close} submit={() => create.mutate(undefined)} busy={create.isPending}
      error={create.error} action={common('create')}>
      <TextInput label={common('name')} name="name" required maxLength={120} value={name}
        error={fieldErrors(create.error).name} data-autofocus
        onChange={(event) => setName(event.currentTarget.value)} />
    </FormModal>
  );
}
