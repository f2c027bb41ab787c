import { Button, Select, Stack } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';

import { client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { Empty, Heading } from '../lib/parts.js';
import { DataList, useListState } from '../lib/table.js';
import { useAdminSystem } from '../messages/admin-system.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { useRetry } from './retry.js';
import { Tag, useOptions } from './shown.js';

const limit = '100';
const refresh = { placeholderData: keepPreviousData, refetchInterval: 10_000 } as const;

export default function Jobs() {
  const t = useAdminSystem();
  const [state, change] = useListState();
  const deliveries = state.list === 'deliveries';
  return (
    <Stack>
      <Heading title={t('jobs')}>
        <Select size="xs" aria-label={t('list')} value={deliveries ? 'deliveries' : 'runs'} allowDeselect={false}
          data={[{ value: 'runs', label: t('runs') }, { value: 'deliveries', label: t('latest') }]}
          onChange={(next) => change({ list: next === 'runs' ? '' : next ?? '', page: '', sort: '', order: '', status: '', kind: '',
            hide: '' })} />
      </Heading>
      {deliveries ? <Deliveries /> : <Runs />}
    </Stack>
  );
}

function Runs() {
  const t = useAdminSystem();
  const common = useCommon();
  const [state] = useListState();
  const query = { limit, ...(state.kind && { kind: state.kind }) };
  const list = useQuery({
    queryKey: ['admin-runs', query], queryFn: () => unwrap(client.GET('/v1/admin/operations/scheduler-runs', { params: { query } })),
      ...refresh,
  });
  return (
    <DataList name="jobs" label={t('runs')} rows={list.data?.items} error={list.error} retry={() => void list.refetch()}
      fetching={list.isFetching}
      empty={<Empty text={t('noRuns')} />} filters={[{ key: 'kind', label: t('kind') }]}
      columns={[
        { key: 'kind', title: t('kind'), value: ({ kind }) => kind },
        { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
        { key: 'attempt', title: t('attempts'), value: (row) => `${row.attempt} / ${row.maxAttempts}`, wide: true },
        { key: 'due', title: t('due'), value: ({ scheduledAt }) => scheduledAt, render: ({ scheduledAt }) => time(scheduledAt),
          wide: true },
        { key: 'took', title: t('took'), value: (row) => row.durationMs,
          render: (row) => (row.durationMs === null ? '–' : `${number(row.durationMs)} ms`), wide: true },
        { key: 'error', title: t('error'), value: ({ error }) => error, wide: true },
      ]} />
  );
}

function Deliveries() {
  const t = useAdminSystem();
  const common = useCommon();
  const may = useMay();
  const retry = useRetry();
  const [state] = useListState();
  const statuses = useOptions(['pending', 'delivered', 'retrying', 'failed']);
  const query = { limit, ...(state.status && { status: state.status }) };
  const list = useQuery({
    queryKey: ['admin-deliveries', query], queryFn: () => unwrap(client.GET('/v1/admin/operations/webhook-deliveries',
      { params: { query } })), ...refresh,
  });
  return (
    <DataList name="deliveries" label={t('latest')} rows={list.data?.items} error={list.error} retry={() => void list.refetch()}
      fetching={list.isFetching}
      empty={<Empty text={t('noDeliveries')} />} filters={[{ key: 'status', label: common('status'), options: statuses }]}
      columns={[
        { key: 'event', title: t('event'), value: ({ event }) => event },
        { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName, wide: true },
        { key: 'status', title: common('status'), value: (row) => row.status, render: (row) => <Tag of={row.status} /> },
        { key: 'url', title: t('endpoint'), value: ({ url }) => url, wide: true },
        { key: 'answer', title: t('answer'), value: ({ responseStatus, error }) => responseStatus ?? error, wide: true },
        { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt),
          wide: true },
      ]}
      actions={(row) => may('admin:write') && <Button size="compact-xs" variant="default"
        onClick={() => retry(row.id)}>{t('retryNow')}</Button>} />
  );
}
