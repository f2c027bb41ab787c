import { SimpleGrid, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { AdminBillingOverview } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { money, number, percent, time, unitsOf } from '../lib/format.js';
import { Empty, Figure, Section, Waiting } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useAdminReports } from '../messages/admin-reports.js';
import { useWord } from '../messages/admin-words.js';
import { BarSection } from './bars.js';
import { amounts } from './shown.js';

const useOverview = () => api.useQuery('get', '/v1/admin/billing/overview', {}, { refetchInterval: 60_000 });

const statuses = [
  ['active', 'ACTIVE'], ['trialing', 'TRIALING'], ['pastDue', 'PAST_DUE'], ['paused', 'PAUSED'], ['unpaid', 'UNPAID'],
  ['incomplete', 'INCOMPLETE'], ['canceled', 'CANCELLED'],
] as const;

const sums = [
  ['monthlyRecurring', 'recurring'], ['yearlyRecurring', 'yearly'], ['paidThisMonth', 'paid'], ['refundedThisMonth', 'refunded'],
  ['open', 'open'], ['overdue', 'overdue'],
] as const;

interface CurrencyRow { id: string; of: AdminBillingOverview }

const centsOf = ({ id, of }: CurrencyRow, key: (typeof sums)[number][0]) => (
  of[key].find(({ currency }) => currency === id)?.amountCents ?? 0
);

export function Billing() {
  const t = useAdminReports();
  const word = useWord();
  const query = useOverview();
  if (!query.data) return <Waiting query={query} />;
  const of = query.data;
  const currencies = [...new Set(sums.flatMap(([key]) => of[key].map(({ currency }) => currency)))].sort();
  return (
    <>
      <Text size="sm" c="dimmed">{t('stateAt', { time: time(of.at) })}</Text>
      <SubscriptionFigures of={of} />
      <InvoiceFigures of={of} />
      <BarSection title={t('subscriptionsBy')} empty={t('noSubscriptions')} full={of.subscriptions.total} of={statuses.map(([key, status]) => (
        { key, label: word(status), value: of.subscriptions[key], text: number(of.subscriptions[key]) }
      ))} />
      <Section title={t('amounts')}>
        <DataList<CurrencyRow> name="billing" label={t('amounts')} rows={currencies.map((id) => ({ id, of }))} fetching={query.isFetching}
          empty={<Empty text={t('noAmounts')} />}
          columns={[
            { key: 'currency', title: t('currency'), value: ({ id }) => id.toUpperCase() },
            ...sums.map(([key, title], index) => ({
              key, title: t(title), value: (row: CurrencyRow) => unitsOf(centsOf(row, key), row.id),
              render: (row: CurrencyRow) => money(centsOf(row, key), row.id), wide: index > 0,
            })),
          ]} />
      </Section>
    </>
  );
}

function SubscriptionFigures({ of }: { of: AdminBillingOverview }) {
  const t = useAdminReports();
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      <Figure label={t('recurring')} value={amounts(of.monthlyRecurring)} note={`${t('yearly')}: ${amounts(of.yearlyRecurring)}`} />
      <Figure label={t('trialsEnding')} value={number(of.trialsEndingSoon)} />
      <Figure label={t('canceling')} value={number(of.canceling)} />
      <Figure label={t('churn')} value={percent(of.churnPercent / 100)} note={t('churnNote')} />
    </SimpleGrid>
  );
}

function InvoiceFigures({ of }: { of: AdminBillingOverview }) {
  const t = useAdminReports();
  const refunded = of.refundedThisMonth.length > 0 ? t('refundedNote', { amount: amounts(of.refundedThisMonth) }) : undefined;
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      <Figure label={t('paid')} value={amounts(of.paidThisMonth)} note={refunded} />
      <Figure label={t('open')} value={amounts(of.open)} note={t('invoicesOf', { n: number(of.openInvoices) })} />
      <Figure label={t('overdue')} value={amounts(of.overdue)} note={t('invoicesOf', { n: number(of.overdueInvoices) })} />
      <Figure label={t('failedPayments')} value={number(of.failedPayments)} />
    </SimpleGrid>
  );
}

// The figures above a list of subscriptions or invoices.
export function BillingFigures({ of }: { of: 'subscriptions' | 'invoices' }) {
  const query = useOverview();
  if (!query.data) return <Waiting query={query} height={90} />;
  return of === 'subscriptions' ? <SubscriptionFigures of={query.data} /> : <InvoiceFigures of={query.data} />;
}

export function BillingReportLink() {
  const t = useAdminReports();
  return <Link className="link" to="/reports" search={{ report: 'billing' } as never}>{t('report')}</Link>;
}
