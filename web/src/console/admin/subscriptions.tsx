import { Button, Group, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { client, unwrap } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { date, money, unitsOf } from '../lib/format.js';
import { Heading, useChange, useConfirm } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { BillingFigures, BillingReportLink } from './report-billing.js';
import { Tag, useOptions } from './shown.js';
import { TrialButton } from './trial.js';

const statuses = ['TRIALING', 'ACTIVE', 'PAST_DUE', 'PAUSED', 'CANCELED', 'INCOMPLETE', 'UNPAID'];

export default function Subscriptions() {
  const t = useAdmin();
  const common = useCommon();
  const word = useWord();
  const may = useMay();
  const confirm = useConfirm();
  const at = (id: string) => ({ params: { path: { id } } });
  const done = { done: common('done') };
  const cancel = useChange((id: string) => unwrap(client.POST('/v1/admin/subscriptions/{id}/cancel', at(id))), done);
  const pause = useChange((id: string) => unwrap(client.POST('/v1/admin/subscriptions/{id}/pause', at(id))), done);
  const resume = useChange((id: string) => unwrap(client.POST('/v1/admin/subscriptions/{id}/resume', at(id))), done);
  return (
    <Stack>
      <Heading title={t('subscriptions')}><BillingReportLink /></Heading>
      <BillingFigures of="subscriptions" />
      <AdminList name="subscriptions" label={t('subscriptions')} empty={t('noneMatch')} get={(query) => client.GET('/v1/admin/subscriptions', { params: { query } })}
        filters={[{ key: 'status', label: common('status'), options: useOptions(statuses) }]}
        columns={[
          { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName,
            render: ({ tenantId, tenantName }) => <Link className="link" to={`/tenants/${tenantId}` as never}>{tenantName}</Link> },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
          { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan), wide: true },
          { key: 'price', title: t('priceNow'), value: ({ priceCents, currency }) => unitsOf(priceCents, currency),
            render: ({ priceCents, currency }) => money(priceCents, currency), wide: true },
          { key: 'end', title: t('periodEnd'), value: ({ currentPeriodEnd }) => currentPeriodEnd, render: ({ currentPeriodEnd }) => date(currentPeriodEnd), wide: true },
        ]}
        actions={({ id, status, cancelAtPeriodEnd }) => may('admin:billing') && status !== 'CANCELED' && (
          <Group gap={4} justify="end" wrap="nowrap">
            {status === 'TRIALING' && <TrialButton id={id} />}
            {status === 'PAUSED'
              ? <Button size="compact-xs" variant="default" onClick={() => resume.mutate(id)}>{t('resume')}</Button>
              : <Button size="compact-xs" variant="default" onClick={() => confirm(t('pause'), t('pauseText'), () => pause.mutate(id))}>{t('pause')}</Button>}
            {!cancelAtPeriodEnd
              && <Button size="compact-xs" variant="default" onClick={() => confirm(t('cancelSubscription'), t('cancelText'), () => cancel.mutate(id))}>{t('cancelSubscription')}</Button>}
          </Group>
        )} />
    </Stack>
  );
}
