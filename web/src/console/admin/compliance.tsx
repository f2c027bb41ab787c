import { SimpleGrid, Stack } from '@mantine/core';

import { api, client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { date, number } from '../lib/format.js';
import { Figure, Heading } from '../lib/parts.js';
import { useAdminTenant } from '../messages/admin-tenant.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { Tag } from './shown.js';

export default function Compliance() {
  const t = useAdminTenant();
  const common = useCommon();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/compliance/overview', { params: { query: { pageSize: '1' } } }, { refetchInterval: 60_000 });
  const of = query.data;
  const yesNo = (value: boolean) => (value ? t('yes') : t('no'));
  return (
    <Stack>
      <Heading title={t('compliance')} />
      {of && (
        <SimpleGrid cols={{ base: 2, sm: 4 }}>
          <Figure label={t('verified')} value={number(of.verified)} />
          <Figure label={t('unverified')} value={number(of.unverified)} />
          <Figure label={t('pending')} value={number(of.pending)} />
          <Figure label={t('rejected')} value={number(of.rejected)} />
          <Figure label={t('highRisk')} value={number(of.highRisk)} />
          <Figure label={t('onHold')} value={number(of.onLegalHold)} />
          <Figure label={t('reviewsDue')} value={number(of.reviewsDue)} />
          <Figure label={t('withoutDpa')} value={number(of.withoutDpa)} />
        </SimpleGrid>
      )}
      <AdminList name="compliance" label={t('compliance')} empty={t('recordsEmpty')}
        get={async (filter) => {
          const { data, error, response } = await client.GET('/v1/admin/compliance/overview', { params: { query: filter } });
          return { error, response, ...(data && { data: { ...data, items: data.items.map((row) => ({ ...row, id: row.tenantId })) } }) };
        }}
        link={({ id }) => `/compliance/${id}`}
        columns={[
          { key: 'name', title: t('tenant'), value: ({ tenantName }) => tenantName },
          { key: 'verification', title: t('verification'), value: ({ verification }) => verification, render: ({ verification }) => <Tag
            of={verification} /> },
          { key: 'risk', title: t('risk'), value: ({ riskLevel }) => riskLevel, render: ({ riskLevel }) => <Tag of={riskLevel} />,
            wide: true },
          { key: 'hold', title: t('legalHold'), value: ({ legalHold }) => yesNo(legalHold), wide: true },
          { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan), wide: true },
          { key: 'dpa', title: t('dpaSigned'), value: ({ dpaSignedAt }) => dpaSignedAt, render: ({ dpaSignedAt }) => date(dpaSignedAt),
            wide: true },
          { key: 'review', title: t('nextReview'), value: ({ nextReviewAt }) => nextReviewAt,
            render: ({ nextReviewAt }) => date(nextReviewAt), wide: true },
        ]} />
    </Stack>
  );
}
