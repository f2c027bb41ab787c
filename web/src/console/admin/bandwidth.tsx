import { SimpleGrid, Stack } from '@mantine/core';
import { useMemo } from 'react';

import { api } from '../lib/api.js';
import { Chart } from '../lib/chart.js';
import { bytes, percent } from '../lib/format.js';
import { Empty, Figure, Heading, Section, Waiting } from '../lib/parts.js';
import { DataList, useListState } from '../lib/table.js';
import { useAdmin } from '../messages/admin.js';
import { useAdminImport } from '../messages/admin-import.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { CdnImportButton } from './cdn-import.js';
import { DaysSelect } from './days-select.js';
import { useMay } from './gate.js';

const perGB = 1e9;

export default function Bandwidth() {
  const t = useAdmin();
  const may = useMay();
  const [state, change] = useListState();
  const days = state.days ?? '30';
  return (
    <Stack>
      <Heading title={t('bandwidth')}>
        <DaysSelect days={days} choose={(next) => change({ days: next, page: '' })} />
        {may('admin:write') && <CdnImportButton />}
      </Heading>
      <Traffic days={days} />
    </Stack>
  );
}

function Traffic({ days: range }: { days: string }) {
  const t = useAdmin();
  const more = useAdminImport();
  const common = useCommon();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/bandwidth/overview', { params: { query: { days: range } } }, { refetchInterval: 60_000 });
  const days = query.data?.days;
  const times = useMemo(() => (days ?? []).map(({ startsAt }) => Date.parse(startsAt) / 1000), [days]);
  const [servers, cdn] = [more('serversADay'), more('cdnADay')];
  const lines = useMemo(() => [
    { label: servers, colour: 'brand' as const,
      values: (days ?? []).map((day) => (day.liveBytes + day.recordingBytes + day.restreamBytes + day.sessionBytes) / perGB) },
    { label: cdn, colour: 'teal' as const, values: (days ?? []).map(({ cdnBytes }) => cdnBytes / perGB) },
  ], [days, servers, cdn]);
  if (!query.data) return <Waiting query={query} />;
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Figure label={t('ingress')} value={bytes(query.data.ingressBytes)} />
        <Figure label={t('egress')} value={bytes(query.data.egressBytes)} />
        <Figure label={t('cdn')} value={bytes(query.data.cdnBytes)} />
      </SimpleGrid>
      <Section title={more('traffic')}><Chart title={more('traffic')} times={times} lines={lines} utcDays /></Section>
      <Section title={t('tenants')}>
        <DataList name="bandwidth" label={t('bandwidth')} rows={query.data.tenants.map((row) => ({ ...row, id: row.tenantId }))}
          fetching={query.isFetching} link={({ id }) => `/tenants/${id}`} empty={<Empty text={more('noTraffic')} />}
          columns={[
            { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName },
            { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan), wide: true },
            { key: 'egress', title: t('egress'), value: ({ egressBytes }) => egressBytes, render: ({ egressBytes }) => bytes(egressBytes) },
            { key: 'cdn', title: t('cdn'), value: ({ cdnBytes }) => cdnBytes, render: ({ cdnBytes }) => bytes(cdnBytes) },
            { key: 'share', title: more('share'), value: (row) => row.percent, wide: true,
              render: (row) => percent(row.percent / 100) },
            { key: 'ingress', title: t('ingress'), value: (row) => row.ingressBytes, render: (row) => bytes(row.ingressBytes), wide: true },
          ]} />
      </Section>
    </>
  );
}
