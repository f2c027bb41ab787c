import { Card, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';

import type { DashboardKpis } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { Chart } from '../lib/chart.js';
import { bytes, number, percent, time, unitsOf } from '../lib/format.js';
import { chartHeight, Heading, Section, Waiting } from '../lib/parts.js';
import { useAdminFigures } from '../messages/admin-figures.js';
import { useWord } from '../messages/admin-words.js';
import { amounts, LinkedFigure, Rows } from './shown.js';

const often = { refetchInterval: 15_000 };
const seldom = { refetchInterval: 120_000 };

export default function Dashboard() {
  const t = useAdminFigures();
  const kpis = api.useQuery('get', '/v1/admin/dashboard/kpis', {}, often);
  return (
    <Stack>
      <Heading title={t('dashboard')} />
      {kpis.error && !kpis.data ? <Waiting query={kpis} /> : <Kpis of={kpis.data} />}
      <SimpleGrid cols={{ base: 1, md: 2 }}><Growth /><Revenue /></SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }}><PlanShares /><Activity /></SimpleGrid>
      <Recent />
    </Stack>
  );
}

// The figures; without them, cards of the same size.
function Kpis({ of }: { of: DashboardKpis | undefined }) {
  const t = useAdminFigures();
  const blank = '\u00a0';
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 4 }} spacing="sm">
      <LinkedFigure to="/tenants" label={t('tenants')} value={of && number(of.tenants.total)}
        note={of ? t('newIn30', { now: number(of.newTenants), before: number(of.newTenantsBefore) }) : blank} />
      <LinkedFigure to="/subscriptions" label={t('recurring')} value={of && amounts(of.monthlyRecurring)} />
      <LinkedFigure to="/live" label={t('liveStreams')} value={of && number(of.liveStreams)}
        note={of ? `${t('viewers')}: ${number(of.viewers)}` : blank} />
      <LinkedFigure to="/reports" label={t('liveSessions')} value={of && number(of.liveSessions)}
        note={of ? t('participants', { n: number(of.participants) }) : blank} />
      <LinkedFigure to="/tickets" label={t('openTickets')} value={of && number(of.openTickets)} />
      <LinkedFigure to="/webhooks" label={t('failedDeliveries')} value={of && number(of.failedDeliveries)} />
      <LinkedFigure to="/users" label={t('users')} value={of && number(of.users)} />
      <LinkedFigure to="/recordings" label={t('recordings')} value={of && number(of.recordings)} note={of ? bytes(of.recordingBytes) : blank} />
    </SimpleGrid>
  );
}

function Growth() {
  const t = useAdminFigures();
  const query = api.useQuery('get', '/v1/admin/dashboard/growth', {}, seldom);
  const days = query.data?.days;
  const times = useMemo(() => (days ?? []).map(({ startsAt }) => Date.parse(startsAt) / 1000), [days]);
  const lines = useMemo(() => [
    { label: t('signUps'), values: (days ?? []).map(({ newTenants }) => newTenants), colour: 'brand' as const },
    { label: t('allTenants'), values: (days ?? []).map(({ totalTenants }) => totalTenants), colour: 'teal' as const },
  ], [days, t]);
  return <Section title={t('growth')}>{days ? <Chart title={t('growth')} times={times} lines={lines} /> : <Waiting
    query={query} height={chartHeight} />}</Section>;
}

// The currency with the most months is shown, since amounts of different currencies are never added.
function Revenue() {
  const t = useAdminFigures();
  const query = api.useQuery('get', '/v1/admin/dashboard/revenue', {}, seldom);
  const months = query.data?.months;
  const currency = months?.findLast(({ monthlyRecurring }) => monthlyRecurring?.length)?.monthlyRecurring?.[0]?.currency;
  const times = useMemo(() => (months ?? []).map(({ startsAt }) => Date.parse(startsAt) / 1000), [months]);
  const lines = useMemo(() => [{
    label: t('revenueIn', { currency: currency?.toUpperCase() ?? '' }), colour: 'brand' as const,
    values: (months ?? []).map(({ monthlyRecurring }) => (
      unitsOf(monthlyRecurring?.find((amount) => amount.currency === currency)?.amountCents ?? 0, currency ?? '')
    )),
  }], [months, currency, t]);
  const note = query.data && (!query.data.wired ? t('notWired') : !currency ? t('noRevenue') : '');
  return (
    <Section title={t('revenue')}>
      {note ? <Text size="sm" c="dimmed" className="chart">{note}</Text> : months ? <Chart title={t('revenue')} times={times} lines={lines} /> : <Waiting
        query={query} height={chartHeight} />}
    </Section>
  );
}

function PlanShares() {
  const t = useAdminFigures();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/dashboard/plan-distribution', {}, seldom);
  return (
    <Section title={t('planShares')}>
      {query.data ? (
        <Stack gap="sm">
          {query.data.plans.map(({ plan, tenants, percent: share }) => (
            <div key={plan}>
              <Group justify="space-between"><Text size="sm">{word(plan)}</Text><Text
                size="sm">{number(tenants)} · {percent(share / 100)}</Text></Group>
              <Progress value={share} aria-label={word(plan)} />
            </div>
          ))}
        </Stack>
      ) : <Waiting query={query} />}
    </Section>
  );
}

function Activity() {
  const t = useAdminFigures();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/platform-activity/overview', {}, seldom);
  if (!query.data) return <Card withBorder><Waiting query={query} /></Card>;
  return (
    <Rows title={t('activity')} head={[t('area'), t('nowActive'), t('day'), t('week'), t('month')]}
      rows={query.data.areas.map((row) => ({
        key: row.area, cells: [word(row.area), number(row.now), number(row.last24Hours), number(row.last7Days), number(row.last30Days)],
      }))} />
  );
}

function Recent() {
  const t = useAdminFigures();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/dashboard/recent-activity', {}, often);
  if (!query.data) return <Waiting query={query} />;
  return (
    <Rows title={t('recent')} head={[t('action'), t('entity'), t('actor'), t('at')]} empty={t('noChanges')}
      aside={<Link className="link" to="/audit">{t('allChanges')}</Link>}
      rows={query.data.items.map(({ id, action, entity, entityId, tenantId, actorType, at }) => ({
        key: id,
        cells: [action, tenantId ? <Link key="tenant" className="link" to={`/tenants/${tenantId}` as never}>{entity} {entityId}</Link>
          : `${entity} ${entityId}`,
          word(actorType), time(at)],
      }))} />
  );
}
