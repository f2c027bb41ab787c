import { SimpleGrid } from '@mantine/core';
import { useMemo } from 'react';

import { api } from '../lib/api.js';
import { Chart, type Line } from '../lib/chart.js';
import { number, utcDate } from '../lib/format.js';
import { Empty, Figure, Section, Waiting } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useAdminFigures } from '../messages/admin-figures.js';
import { useCommon } from '../messages/common.js';

interface Day { startsAt: string }

// Graphs of days, each with its own lines.
function DayCharts<D extends Day>({ days, charts }: { days: D[];
  charts: { title: string; lines: { label: string; of: (day: D) => number; colour: Line['colour'] }[] }[] }) {
  const times = useMemo(() => days.map(({ startsAt }) => Date.parse(startsAt) / 1000), [days]);
  const titles = charts.map(({ title }) => title).join();
  // The graphs are drawn again only for other days and in another language.
  const drawn = useMemo(() => charts.map(({ title, lines }) => ({
    title, lines: lines.map(({ label, of, colour }) => ({ label, colour, values: days.map(of) })),
  })), [days, titles]);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {drawn.map(({ title, lines }) => (
        <Section key={title} title={title}><Chart title={title} times={times} lines={lines} utcDays /></Section>
      ))}
    </SimpleGrid>
  );
}

export function Growth({ days }: { days: string }) {
  const t = useAdminFigures();
  const common = useCommon();
  const query = api.useQuery('get', '/v1/admin/reports/tenant-growth', { params: { query: { days } } });
  if (!query.data) return <Waiting query={query} />;
  return (
    <>
      <SimpleGrid cols={{ base: 2, sm: 3 }}>
        <Figure label={t('allTenants')} value={number(query.data.totalTenants)} />
        <Figure label={t('signUps')} value={number(query.data.newTenants)} />
        <Figure label={t('cancelled')} value={number(query.data.cancelledTenants)} />
      </SimpleGrid>
      <DayCharts days={query.data.days} charts={[
        { title: t('signUps'), lines: [{ label: t('signUps'), of: (day) => day.newTenants, colour: 'brand' }] },
        { title: t('allTenants'), lines: [{ label: t('allTenants'), of: (day) => day.totalTenants, colour: 'teal' }] },
      ]} />
      <DataList name="tenant-growth" label={t('tenantGrowth')} rows={query.data.days.map((day) => ({ ...day, id: day.startsAt })).reverse()}
        fetching={query.isFetching}
        empty={<Empty text={common('empty')} />}
        columns={[
          { key: 'day', title: t('date'), value: ({ startsAt }) => startsAt.slice(0, 10), render: ({ startsAt }) => utcDate(startsAt) },
          { key: 'new', title: t('signUps'), value: ({ newTenants }) => newTenants },
          { key: 'total', title: t('allTenants'), value: ({ totalTenants }) => totalTenants },
          { key: 'cancelled', title: t('cancelled'), value: ({ cancelledTenants }) => cancelledTenants, wide: true },
          { key: 'suspended', title: t('suspendedTenants'), value: ({ suspendedTenants }) => suspendedTenants, wide: true },
        ]} />
    </>
  );
}

export function Streams({ days }: { days: string }) {
  const t = useAdminFigures();
  const common = useCommon();
  const query = api.useQuery('get', '/v1/admin/reports/stream-activity', { params: { query: { days } } });
  if (!query.data) return <Waiting query={query} />;
  const whole = (n: number) => number(Math.round(n));
  return (
    <>
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('broadcasts')} value={number(query.data.broadcasts)} />
        <Figure label={t('minutesLive')} value={whole(query.data.minutesLive)} />
        <Figure label={t('minutesWatched')} value={whole(query.data.minutesWatched)} />
        <Figure label={t('peakViewers')} value={number(query.data.peakViewers)}
          note={`${t('peakStreams')}: ${number(query.data.peakLiveStreams)}`} />
      </SimpleGrid>
      <DayCharts days={query.data.days} charts={[
        { title: t('minutesWatched'), lines: [
          { label: t('minutesWatched'), of: (day) => day.minutesWatched, colour: 'brand' },
            { label: t('minutesLive'), of: (day) => day.minutesLive, colour: 'teal' },
        ] },
        { title: t('peakViewers'), lines: [{ label: t('peakViewers'), of: (day) => day.peakViewers, colour: 'orange' }] },
      ]} />
      <DataList name="stream-activity" label={t('streamActivity')}
        rows={query.data.days.map((day) => ({ ...day, id: day.startsAt })).reverse()} fetching={query.isFetching}
        empty={<Empty text={common('empty')} />}
        columns={[
          { key: 'day', title: t('date'), value: ({ startsAt }) => startsAt.slice(0, 10), render: ({ startsAt }) => utcDate(startsAt) },
          { key: 'broadcasts', title: t('broadcasts'), value: ({ broadcasts }) => broadcasts },
          { key: 'watched', title: t('minutesWatched'), value: (day) => day.minutesWatched, render: (day) => whole(day.minutesWatched) },
          { key: 'live', title: t('minutesLive'), value: (day) => day.minutesLive, render: (day) => whole(day.minutesLive), wide: true },
          { key: 'viewers', title: t('peakViewers'), value: ({ peakViewers }) => peakViewers, wide: true },
          { key: 'streams', title: t('streams'), value: ({ streams }) => streams, wide: true },
          { key: 'tenants', title: t('tenants'), value: ({ tenants }) => tenants, wide: true },
        ]} />
    </>
  );
}
