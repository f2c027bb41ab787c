import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { WebhookDelivery } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { time } from '../lib/format.js';
import { Empty, Heading, Status, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useHooks } from '../messages/hooks.js';
import { Attempts } from './attempts.js';
import { EndpointActions } from './endpoint-actions.js';
import { useMay } from './identity.js';

const statuses = ['pending', 'delivered', 'retrying', 'failed'] as const;

export default function Deliveries() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useConsole();
  const hooks = useHooks();
  const [shown, setShown] = useState<WebhookDelivery | null>(null);
  const common = useCommon();
  const may = useMay();
  const confirm = useConfirm();
  const navigate = useNavigate();
  const [state] = useListState();
  const path = { params: { path: { id } } };
  const endpoint = api.useQuery('get', '/v1/me/webhooks/{id}', path);
  const status = statuses.find((known) => known === state.status);
  const list = useCursorList<WebhookDelivery>(['deliveries', id, status], (query, signal) => (
    client.GET('/v1/me/webhooks/{id}/deliveries', { params: { path: { id }, query: { ...query, ...(status && { status }) } }, signal })
  ), 10_000);
  const test = useChange(() => unwrap(client.POST('/v1/me/webhooks/{id}/test', { ...path, body: { event: 'stream.started' } })), { done: t('tested') });
  const remove = useChange(() => unwrap(client.DELETE('/v1/me/webhooks/{id}', path)), { after: () => { void navigate({ to: '/webhooks' }); } });
  const retry = useChange((delivery: string) => unwrap(client.POST('/v1/me/webhooks/deliveries/{id}/retry', { params: { path: { id: delivery } } })), { done: t('retried') });
  if (!endpoint.data) return <Waiting query={endpoint} />;
  const { url, events, failingSince, previousSecretExpiresAt } = endpoint.data;
  return (
    <Stack gap={0}>
      <Heading title={t('deliveries')}>
        {may('webhooks:write') && (
          <>
            <Button size="xs" loading={test.isPending} onClick={() => test.mutate(undefined)}>{t('test')}</Button>
            <Button size="xs" variant="default" onClick={() => confirm(t('remove'), t('removeEndpoint'), () => remove.mutate(undefined))}>{t('remove')}</Button>
          </>
        )}
      </Heading>
      <Group gap="xs" mb="xs"><Code>{url}</Code><Status of={endpoint.data.status} label={hooks(endpoint.data.status === 'active' ? 'active' : 'statusDisabled')} /></Group>
      <Text size="sm" mb="xs">{hooks('subscribed', { events: events.join(', ') || hooks('allEvents') })}</Text>
      {failingSince && <Text size="sm" mb="xs">{hooks('failingSince', { at: time(failingSince) })}</Text>}
      {previousSecretExpiresAt && <Text size="sm" mb="xs">{hooks('previousUntil', { at: time(previousSecretExpiresAt) })}</Text>}
      {may('webhooks:write') && <EndpointActions endpoint={endpoint.data} />}
      {endpoint.data.disabledReason && <Text size="sm" mb="md">{endpoint.data.disabledReason}</Text>}
      <CursorList name="deliveries" label={t('deliveries')} list={list}
        filters={[{ key: 'status', label: common('status'), options: statuses.map((value) => ({ value, label: hooks(value) })) }]}
        empty={<Empty text={t('noDeliveries')} />}
        columns={[
          { key: 'event', title: t('events'), value: ({ event }) => event },
          { key: 'status', title: common('status'), value: (row) => row.status, render: (row) => <Status of={row.status} label={hooks(row.status)} /> },
          { key: 'attempts', title: t('attempts'), value: ({ attempts }) => attempts, wide: true },
          { key: 'answer', title: t('answer'), value: ({ responseStatus, error }) => responseStatus ?? error, wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
        ]}
        actions={(row) => (
          <Group gap={4} justify="end">
            <Button size="compact-xs" variant="default" onClick={() => setShown(row)}>{hooks('details')}</Button>
            {may('webhooks:write') && row.status !== 'pending'
              && <Button size="compact-xs" variant="default" onClick={() => retry.mutate(row.id)}>{t('retryDelivery')}</Button>}
          </Group>
        )} />
      <Attempts delivery={shown} close={() => setShown(null)} />
    </Stack>
  );
}
