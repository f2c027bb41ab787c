import { SimpleGrid, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';

import { api } from '../lib/api.js';
import { Chart } from '../lib/chart.js';
import { number, percent, time } from '../lib/format.js';
import { Empty, Figure, Heading, Section, Waiting } from '../lib/parts.js';
import { DataList, useListState } from '../lib/table.js';
import { useAdminSystem } from '../messages/admin-system.js';
import { useAdmin } from '../messages/admin.js';
import { DaysSelect } from './days-select.js';
import { Rows } from './shown.js';

// How tenants' developers use the API.
export default function Usage() {
  const t = useAdminSystem();
  const admin = useAdmin();
  const [state, change] = useListState();
  const days = state.days ?? '30';
  const query = api.useQuery('get', '/v1/admin/dev-activity/overview', { params: { query: { days } } });
  const perDay = query.data?.days;
  const times = useMemo(() => (perDay ?? []).map(({ startsAt }) => Date.parse(startsAt) / 1000), [perDay]);
  const [calls, errors] = useMemo(() => [
    [{ label: t('calls'), values: (perDay ?? []).map(({ apiCalls }) => apiCalls), colour: 'brand' as const }],
    [{ label: t('clientErrors'), values: (perDay ?? []).map(({ clientErrors }) => clientErrors), colour: 'orange' as const },
      { label: t('serverErrors'), values: (perDay ?? []).map(({ serverErrors }) => serverErrors), colour: 'brand' as const }],
  ], [perDay, t]);
  if (!query.data) return <Waiting query={query} />;
  const of = query.data;
  return (
    <Stack>
      <Heading title={admin('devActivity')}>
        <DaysSelect days={days} choose={(next) => change({ days: next, page: '' })} />
      </Heading>
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('calls')} value={number(of.apiCalls)} />
        <Figure label={t('clientErrors')} value={percent(of.clientErrorPercent / 100)}
          note={`${t('serverErrors')}: ${percent(of.serverErrorPercent / 100)}`} />
        <Figure label={t('activeTenants')} value={number(of.activeTenants)} />
        <Figure label={t('activeKeys')} value={number(of.activeKeys)}
          note={`${t('newKeys')}: ${number(of.newKeys)} · ${t('newWebhooks')}: ${number(of.newWebhooks)}`} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Section title={t('calls')}><Chart title={t('calls')} times={times} lines={calls ?? []} /></Section>
        <Section title={`${t('clientErrors')} · ${t('serverErrors')}`}><Chart title={t('clientErrors')} times={times}
          lines={errors ?? []} /></Section>
      </SimpleGrid>
      <Rows title={t('callers')} empty={t('noCalls')} head={[t('tenant'), t('calls'), t('clientErrors'), t('keys'), t('lastCall')]}
        rows={of.tenants.map((row) => ({
          key: row.tenantId,
          cells: [<Link key="tenant" className="link" to={`/tenants/${row.tenantId}` as never}>{row.tenantName}</Link>, number(row.calls),
            number(row.clientErrors),
            number(row.keys), time(row.lastCallAt)],
        }))} />
      <Section title={t('operations')}>
        <DataList name="operations" label={t('operations')} rows={of.operations.map((row) => ({ ...row, id: row.operationId }))}
          fetching={query.isFetching}
          empty={<Empty text={t('noCalls')} />}
          columns={[
            { key: 'operation', title: t('operation'), value: ({ operationId }) => operationId },
            { key: 'calls', title: t('calls'), value: (row) => row.calls, render: (row) => number(row.calls) },
            { key: 'refused', title: t('clientErrors'), value: ({ clientErrors }) => clientErrors, wide: true },
            { key: 'failed', title: t('serverErrors'), value: ({ serverErrors }) => serverErrors, wide: true },
            { key: 'median', title: t('median'), value: ({ medianMs }) => medianMs,
              render: ({ medianMs }) => `${number(Math.round(medianMs))} ms`, wide: true },
            { key: 'p95', title: t('p95'), value: ({ p95Ms }) => p95Ms, render: ({ p95Ms }) => `${number(Math.round(p95Ms))} ms`,
              wide: true },
          ]} />
      </Section>
    </Stack>
  );
}
