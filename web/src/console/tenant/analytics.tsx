import { Select, SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useMemo } from 'react';

import type { Analytics, AnalyticsInterval, AnalyticsPoint } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { Chart, type Line } from '../lib/chart.js';
import { money, number, time, unitsOf, utcDate } from '../lib/format.js';
import { Empty, Figure, Heading, Section } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { DataList, useListState } from '../lib/table.js';
import { useAnalytics } from '../messages/analytics.js';

// The ranges in days. The API gives hours for 31 days at most.
const ranges: { key: string; text: 'day1' | 'day7' | 'day30' | 'day90' | 'day365'; days: number; interval: AnalyticsInterval }[] = [
  { key: '1', text: 'day1', days: 1, interval: 'hour' }, { key: '7', text: 'day7', days: 7, interval: 'hour' }, { key: '30', text: 'day30', days: 30, interval: 'day' },
  { key: '90', text: 'day90', days: 90, interval: 'day' }, { key: '365', text: 'day365', days: 364, interval: 'day' },
];

const hourMs = 3_600_000;

export default function AnalyticsPage() {
  const t = useAnalytics();
  const [state, change] = useListState();
  const range = ranges.find(({ key }) => key === state.range) ?? ranges[1]!;
  const { from, to } = useMemo(() => {
    const end = Math.ceil(Date.now() / hourMs) * hourMs; // a whole hour, so that the query's key stays the same
    return { from: new Date(end - range.days * 24 * hourMs).toISOString(), to: new Date(end).toISOString() };
  }, [range]);
  const query = api.useQuery('get', '/v1/me/analytics', { params: { query: { from, to, interval: range.interval } } }, { refetchInterval: 60_000 });
  return (
    <Stack>
      <Heading title={t('title')}>
        <Select size="xs" w={150} aria-label={t('range')} value={range.key} allowDeselect={false} comboboxProps={{ withinPortal: false }}
          onChange={(next) => change({ range: next ?? '', page: '' })} data={ranges.map(({ key, text }) => ({ value: key, label: t(text) }))} />
      </Heading>
      <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      {query.data ? <Figures analytics={query.data} /> : query.isPending && <Skeleton height={400} />}
    </Stack>
  );
}

const sum = (points: AnalyticsPoint[], of: (point: AnalyticsPoint) => number) => points.reduce((total, point) => total + of(point), 0);
const cents = ({ revenue }: AnalyticsPoint, currency: string) => revenue.find((row) => row.currency === currency)?.totalCents ?? 0;

function Figures({ analytics: { points, interval } }: { analytics: Analytics }) {
  const t = useAnalytics();
  const times = useMemo(() => points.map(({ startsAt }) => Date.parse(startsAt) / 1000), [points]);
  const currencies = useMemo(() => [...new Set(points.flatMap(({ revenue }) => revenue.map(({ currency }) => currency)))].sort(), [points]);
  const charts = useMemo(() => {
    const line = (label: string, colour: Line['colour'], of: (point: AnalyticsPoint) => number): Line => ({ label, colour, values: points.map(of) });
    return [
      { title: t('viewers'), lines: [line(t('viewers'), 'brand', ({ viewers }) => viewers)] },
      { title: t('streams'), lines: [
        line(t('minutesLive'), 'orange', ({ minutesLive }) => minutesLive), line(t('minutesWatched'), 'teal', ({ minutesWatched }) => minutesWatched),
      ] },
      { title: t('sales'), lines: [
        line(t('orders'), 'brand', ({ orders }) => orders),
        ...currencies.slice(0, 2).map((currency, index) => (
          line(t('revenue', { currency }), index === 0 ? 'teal' : 'orange', (point) => unitsOf(cents(point, currency), currency))
        )),
      ] },
      { title: t('sessions'), lines: [line(t('sessions'), 'teal', ({ sessions }) => sessions)] },
    ];
  }, [points, currencies, t]);
  const revenue = currencies.map((currency) => money(sum(points, (point) => cents(point, currency)), currency)).join(' + ');
  const empty = points.every((point) => point.viewers + point.minutesLive + point.minutesWatched + point.orders + point.sessions === 0);
  return (
    <>
      <SimpleGrid cols={{ base: 2, sm: 3 }}>
        <Figure label={t('viewersHint')} value={number(Math.max(0, ...points.map(({ viewers }) => viewers)))} />
        <Figure label={t('minutesLive')} value={number(sum(points, ({ minutesLive }) => minutesLive))} />
        <Figure label={t('minutesWatched')} value={number(sum(points, ({ minutesWatched }) => minutesWatched))} />
        <Figure label={t('sessions')} value={number(sum(points, ({ sessions }) => sessions))} />
        <Figure label={t('orders')} value={number(sum(points, ({ orders }) => orders))} />
        <Figure label={t('revenueShort')} value={revenue || t('noRevenue')} />
      </SimpleGrid>
      {empty ? <Stack align="center" py="xl" role="status"><Empty text={t('none')} /></Stack> : (
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          {charts.map(({ title, lines }) => <Section key={title} title={title}><Chart title={title} times={times} lines={lines} utcDays={interval === 'day'} /></Section>)}
        </SimpleGrid>
      )}
      <Section title={t('table')}><Points points={points} interval={interval} currencies={currencies} /></Section>
    </>
  );
}

function Points({ points, interval, currencies }: { points: AnalyticsPoint[]; interval: AnalyticsInterval; currencies: string[] }) {
  const t = useAnalytics();
  const rows = useMemo(() => points.map((point) => ({ ...point, id: point.startsAt })).reverse(), [points]);
  return (
    <DataList name="analytics" label={t('table')} rows={rows} fetching={false} empty={<Empty text={t('none')} />}
      columns={[
        { key: 'at', title: t('at'), value: ({ startsAt }) => startsAt, render: ({ startsAt }) => (interval === 'hour' ? time(startsAt) : utcDate(startsAt)) },
        { key: 'viewers', title: t('viewers'), value: ({ viewers }) => viewers, render: ({ viewers }) => number(viewers) },
        { key: 'live', title: t('minutesLive'), value: ({ minutesLive }) => minutesLive, render: ({ minutesLive }) => number(minutesLive), wide: true },
        { key: 'watched', title: t('minutesWatched'), value: ({ minutesWatched }) => minutesWatched, render: ({ minutesWatched }) => number(minutesWatched), wide: true },
        { key: 'sessions', title: t('sessions'), value: ({ sessions }) => sessions, render: ({ sessions }) => number(sessions), wide: true },
        { key: 'orders', title: t('orders'), value: ({ orders }) => orders, render: ({ orders }) => number(orders), wide: true },
        ...currencies.map((currency) => ({
          key: `revenue-${currency}`, title: t('revenue', { currency }), value: (point: AnalyticsPoint) => unitsOf(cents(point, currency), currency),
          render: (point: AnalyticsPoint) => money(cents(point, currency), currency), wide: true,
        })),
      ]} />
  );
}
