import { Stack, Text } from '@mantine/core';

import { api, client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { bytes, number, time } from '../lib/format.js';
import { Empty, Waiting } from '../lib/parts.js';
import { DataList, type Column } from '../lib/table.js';
import type { TenantActivity } from '../../gen/api.js';
import { useAdminFigures } from '../messages/admin-figures.js';
import { useAdminReports } from '../messages/admin-reports.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { amounts, Tag } from './shown.js';

export function Top() {
  const t = useAdminFigures();
  const common = useCommon();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/reports/top-tenants', { params: { query: { limit: '100' } } });
  if (!query.data) return <Waiting query={query} />;
  const whole = (n: number) => number(Math.round(n));
  return (
    <DataList name="top-tenants" label={t('topTenants')} rows={query.data.items.map((row) => ({ ...row, id: row.tenantId }))}
      fetching={query.isFetching}
      link={({ id }) => `/tenants/${id}`} empty={<Empty text={t('noTop')} />}
      columns={[
        { key: 'name', title: t('tenant'), value: ({ tenantName }) => tenantName },
        { key: 'rank', title: t('rank'), value: ({ rank }) => rank },
        { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan), wide: true },
        { key: 'watched', title: t('minutesWatched'), value: (row) => row.minutesWatched, render: (row) => whole(row.minutesWatched) },
        { key: 'live', title: t('minutesLive'), value: (row) => row.minutesLive, render: (row) => whole(row.minutesLive), wide: true },
        { key: 'sessions', title: t('participantMinutes'), value: (row) => row.participantMinutes,
          render: (row) => whole(row.participantMinutes), wide: true },
        { key: 'viewers', title: t('peakViewers'), value: ({ peakViewers }) => peakViewers, wide: true },
        { key: 'egress', title: t('egress'), value: ({ egressBytes }) => egressBytes, render: ({ egressBytes }) => bytes(egressBytes),
          wide: true },
        { key: 'paid', title: t('paid'), value: ({ paid }) => amounts(paid), wide: true },
      ]} />
  );
}

// The rows of a page have the ids of their tenants.
async function getActivity(query: Record<string, string>) {
  const { data, error, response } = await client.GET('/v1/admin/platform-activity/by-tenant', { params: { query } });
  return { error, response, data: data && { ...data, items: data.items.map((row) => ({ ...row, id: row.tenantId })) } };
}

// Counts in the order of the dashboard's areas, with the names of those.
const counts: [keyof TenantActivity, string][] = [
  ['broadcasts', 'STREAMS'], ['sessions', 'SESSIONS'], ['calls', 'CALLS'], ['chatMessages', 'CHAT'], ['recordings', 'RECORDINGS'],
  ['orders', 'ORDERS'], ['auctions', 'AUCTIONS'], ['restreams', 'RESTREAMS'], ['pushes', 'PUSHES'], ['deliveries', 'DELIVERIES'],
];

export function ActivityByTenant() {
  const t = useAdminReports();
  const common = useCommon();
  const word = useWord();
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">{t('byTenantText')}</Text>
      <AdminList name="activity-by-tenant" label={t('byTenant')} empty={t('noTenants')} get={getActivity}
        link={({ id }) => `/tenants/${id}`}
        columns={[
          { key: 'name', title: t('tenant'), value: ({ tenantName }) => tenantName },
          { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan), wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, wide: true,
            render: ({ status }) => <Tag of={status} /> },
          { key: 'active', title: t('lastActive'), value: ({ lastActiveAt }) => lastActiveAt,
            render: ({ lastActiveAt }) => time(lastActiveAt) },
          ...counts.map(([field, area]): Column<TenantActivity> => ({
            key: field, title: word(area), value: (row) => row[field], render: (row) => number(Number(row[field])), wide: true,
          })),
        ]} />
    </Stack>
  );
}
