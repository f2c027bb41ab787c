import { SimpleGrid } from '@mantine/core';

import type { CurrencyAmount } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { number, percent } from '../lib/format.js';
import { Empty, Figure, Waiting } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useAdminReports } from '../messages/admin-reports.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { BarSection } from './bars.js';
import { amounts } from './shown.js';

const whole = (n: number) => number(Math.round(n));
const sum = <R,>(rows: R[], of: (row: R) => number) => rows.reduce((total, row) => total + of(row), 0);

// The sum of each currency.
function added(of: CurrencyAmount[]): CurrencyAmount[] {
  const sums = new Map<string, number>();
  for (const { currency, amountCents } of of) sums.set(currency, (sums.get(currency) ?? 0) + amountCents);
  return [...sums].sort().map(([currency, amountCents]) => ({ currency, amountCents }));
}

const statuses = [
  ['trial', 'TRIAL'], ['active', 'ACTIVE'], ['pastDue', 'PAST_DUE'], ['suspended', 'SUSPENDED'], ['cancelled', 'CANCELLED'],
] as const;

export function PlanMix() {
  const t = useAdminReports();
  const common = useCommon();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/reports/plan-mix');
  if (!query.data) return <Waiting query={query} />;
  const { plans } = query.data;
  const watched = sum(plans, ({ minutesWatched }) => minutesWatched);
  return (
    <>
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('tenantsTotal')} value={number(sum(plans, ({ tenants }) => tenants.total))} />
        <Figure label={t('recurring')} value={amounts(added(plans.flatMap(({ monthlyRecurring }) => monthlyRecurring)))} />
        <Figure label={t('minutesLive')} value={whole(sum(plans, ({ minutesLive }) => minutesLive))} />
        <Figure label={t('minutesWatched')} value={whole(watched)} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <BarSection title={t('tenantsBy')} empty={t('noTenants')} full={100} of={plans.map(({ plan, tenants, percent: share }) => (
          { key: plan, label: word(plan), value: share, text: `${number(tenants.total - tenants.cancelled)} · ${percent(share / 100)}` }
        ))} />
        <BarSection title={t('watchedBy')} empty={t('noWatched')} full={watched} of={plans.map(({ plan, minutesWatched }) => (
          { key: plan, label: word(plan), value: minutesWatched, text: `${whole(minutesWatched)} · ${percent(watched && minutesWatched / watched)}` }
        ))} />
      </SimpleGrid>
      <DataList name="plan-mix" label={t('planMix')} rows={plans.map((row) => ({ ...row, id: row.plan }))} fetching={query.isFetching}
        empty={<Empty text={common('empty')} />}
        columns={[
          { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan) },
          { key: 'tenants', title: t('tenantsTotal'), value: ({ tenants }) => tenants.total,
            render: ({ tenants }) => number(tenants.total) },
          { key: 'share', title: t('share'), value: (row) => row.percent, wide: true,
            render: (row) => percent(row.percent / 100) },
          ...statuses.map(([field, status]) => ({
            key: field, title: word(status), value: ({ tenants }: (typeof plans)[number]) => tenants[field], wide: true,
          })),
          { key: 'recurring', title: t('recurring'), value: ({ monthlyRecurring }) => amounts(monthlyRecurring), wide: true },
          { key: 'live', title: t('minutesLive'), value: (row) => row.minutesLive, render: (row) => whole(row.minutesLive), wide: true },
          { key: 'watched', title: t('minutesWatched'), value: (row) => row.minutesWatched, render: (row) => whole(row.minutesWatched),
            wide: true },
        ]} />
    </>
  );
}
