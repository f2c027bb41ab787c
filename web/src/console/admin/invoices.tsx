import { Stack } from '@mantine/core';

import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { date, money, safeLink, unitsOf } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useCommon } from '../messages/common.js';
import { BillingFigures, BillingReportLink } from './report-billing.js';
import { Tag, useOptions } from './shown.js';

export default function Invoices() {
  const t = useAdmin();
  const common = useCommon();
  return (
    <Stack>
      <Heading title={t('invoices')}><BillingReportLink /></Heading>
      <BillingFigures of="invoices" />
      <AdminList name="invoices" label={t('invoices')} empty={t('noneMatch')} get={(query) => client.GET('/v1/admin/billing/invoices', { params: { query } })}
        filters={[
          { key: 'status', label: common('status'), options: useOptions(['DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID']) }, { key: 'tenantId', label: t('tenantID') },
        ]}
        columns={[
          { key: 'number', title: t('invoices'), value: ({ number, id }) => number ?? id, render: ({ number, id, hostedInvoiceUrl }) => {
            const href = safeLink(hostedInvoiceUrl);
            return href ? <a className="link" href={href} target="_blank" rel="noreferrer">{number ?? id}</a> : number ?? id;
          } },
          { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} />, wide: true },
          { key: 'total', title: t('total'), value: ({ totalCents, currency }) => unitsOf(totalCents, currency),
            render: ({ totalCents, currency }) => money(totalCents, currency) },
          { key: 'due', title: t('due'), value: ({ dueAt }) => dueAt, render: ({ dueAt }) => date(dueAt), wide: true },
        ]} />
    </Stack>
  );
}
