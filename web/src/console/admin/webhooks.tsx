import { Alert, SimpleGrid, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { api, client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { number, percent, time } from '../lib/format.js';
import { Figure, Heading, Waiting } from '../lib/parts.js';
import { useAdminSystem } from '../messages/admin-system.js';
import { useCommon } from '../messages/common.js';
import { Rows, Tag } from './shown.js';

export default function Webhooks() {
  const t = useAdminSystem();
  const common = useCommon();
  return (
    <Stack>
      <Heading title={t('webhooks')} />
      <Summary />
      <AdminList name="webhook-endpoints" label={t('endpoints')} empty={t('noEndpoints')}
        get={(query) => client.GET('/v1/admin/webhooks/endpoints', { params: { query } })}
        link={({ id }) => `/webhooks/${id}`} filters={[{ key: 'tenantId', label: t('tenantID') }]}
        columns={[
          { key: 'url', title: t('endpoint'), value: ({ url }) => url },
          { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName, wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
          { key: 'deliveries', title: t('deliveries'), value: ({ deliveries }) => deliveries,
            render: ({ deliveries }) => number(deliveries), wide: true },
          { key: 'failures', title: t('failures'), value: (row) => row.failedDeliveries, render: (row) => number(row.failedDeliveries),
            wide: true },
          { key: 'since', title: t('failingSince'), value: ({ failingSince }) => failingSince,
            render: ({ failingSince }) => time(failingSince), wide: true },
        ]} />
    </Stack>
  );
}

function Summary() {
  const t = useAdminSystem();
  const common = useCommon();
  const query = api.useQuery('get', '/v1/admin/webhooks/summary', {}, { refetchInterval: 15_000 });
  if (!query.data) return <Waiting query={query} />;
  const { successPercent, medianMs, p95Ms, deliveries, activeEndpoints, disabledEndpoints, oldestDueAt, failing } = query.data;
  const ms = (value: number | null) => (value === null ? '–' : `${number(Math.round(value))} ms`);
  return (
    <>
      {oldestDueAt && <Alert color="orange" variant="outline">{t('oldestDue', { time: time(oldestDueAt) })}</Alert>}
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('success')} value={successPercent === null ? '–' : percent(successPercent / 100)} />
        <Figure label={t('median')} value={ms(medianMs)} note={`${t('p95')} ${ms(p95Ms)}`} />
        <Figure label={t('deliveries')} value={number(deliveries.total)}
          note={t('failedOf', { failed: number(deliveries.failed), retrying: number(deliveries.retrying) })} />
        <Figure label={t('endpoints')} value={number(activeEndpoints)} note={t('disabledOf', { n: number(disabledEndpoints) })} />
      </SimpleGrid>
      <Rows title={t('failing')} empty={t('noFailing')} head={[t('endpoint'), t('tenant'), common('status'), t('failures'), t('lastError'),
        t('lastSuccess')]}
        rows={failing.map((row) => ({
          key: row.endpointId,
          cells: [<Link key="url" className="link" to={`/webhooks/${row.endpointId}` as never}>{row.url}</Link>, row.tenantName, <Tag
            key="status" of={row.status} />,
            number(row.failedAttempts), row.lastError ?? '–', time(row.lastSuccessAt)],
        }))} />
    </>
  );
}
