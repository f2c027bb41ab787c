import { Button, Group, Select, SimpleGrid, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import type { UsageHistory } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { saveFile } from '../lib/csv.js';
import { amountText, time, utcDate } from '../lib/format.js';
import { meters } from '../lib/meters.js';
import { Empty, Figure, Heading, Section, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useListState } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { useStates } from '../messages/states.js';
import { useUsage } from '../messages/usage.js';
import { UsageCharts } from './usage-charts.js';
import { dayText, ranges, today, viewOf, type UsageQuery, type UsageView } from './usage-range.js';
import { ResourceUsage } from './usage-resources.js';
import { UsageRows } from './usage-rows.js';

const refreshMs = 60_000;

// The operation also answers with CSV, so the type of its answer is open.
function load(query: Partial<UsageQuery>, signal: AbortSignal): Promise<UsageHistory> {
  const headers = { Accept: 'application/json' };
  return unwrap(client.GET('/v1/me/billing/usage/history', { params: { query }, headers, signal })) as Promise<UsageHistory>;
}

export default function UsagePage() {
  const t = useUsage();
  const [state] = useListState();
  const view = viewOf(state);
  const usage = useQuery({
    queryKey: ['usage-history', view.query],
    queryFn: ({ signal }) => load(view.query ?? {}, signal),
    enabled: view.query !== null, refetchInterval: refreshMs, placeholderData: keepPreviousData,
  });
  // Rows of another kind are not shown while those that were asked for are on their way.
  const history = view.query && usage.data?.by === view.by ? usage.data : undefined;
  return (
    <Stack>
      <Heading title={t('title')}>
        <Link className="link" to="/billing">{t('toBilling')}</Link>
        {view.query && <ExactData query={view.query} />}
      </Heading>
      <Choices view={view} />
      {view.tooLongForHours && <Text size="sm" role="status">{t('hoursLimit')}</Text>}
      {!view.query && <Text size="sm" role="status">{t('badRange')}</Text>}
      <ProblemNote error={usage.error} onRetry={() => void usage.refetch()} />
      {history ? <History history={history} /> : view.query && !usage.error && <Skeleton height={400} />}
    </Stack>
  );
}

// The file of the API, which has seconds where the table has minutes.
function ExactData({ query }: { query: UsageQuery }) {
  const t = useUsage();
  const file = useChange(() => unwrap(client.GET('/v1/me/billing/usage/history', {
    params: { query }, headers: { Accept: 'text/csv' }, parseAs: 'blob',
  })), { after: (csv) => saveFile('usage-exact.csv', csv), touches: [] });
  return <Button size="xs" variant="default" loading={file.isPending} onClick={() => file.mutate(undefined)}>{t('download')}</Button>;
}

const defaultDays = 30;
const dayMs = 86_400_000;

function Choices({ view }: { view: UsageView }) {
  const t = useUsage();
  const common = useCommon();
  const states = useStates();
  const [state, change] = useListState();
  const choose = (next: Record<string, string | undefined>) => change({ ...next, page: '' });
  const chooseRange = (range: string | null) => choose(range === 'own'
    ? { range, from: state.from ?? dayText(today() - (defaultDays - 1) * dayMs), to: state.to ?? dayText(today()) }
    : { range: range ?? '', from: '', to: '' });
  const inline = { size: 'xs', allowDeselect: false, comboboxProps: { withinPortal: false } } as const;
  return (
    <Group gap="xs" align="end">
      <Select {...inline} w={210} label={t('period')} value={view.range} onChange={chooseRange}
        data={ranges.map(({ key, text }) => ({ value: key, label: t(text) }))} />
      {view.range === 'own' && (
        <>
          <TextInput size="xs" type="date" label={t('from')} name="from" value={state.from ?? ''} max={state.to}
            onChange={(event) => choose({ from: event.currentTarget.value })} />
          <TextInput size="xs" type="date" label={t('to')} name="to" value={state.to ?? ''} min={state.from}
            onChange={(event) => choose({ to: event.currentTarget.value })} />
        </>
      )}
      <Select {...inline} w={240} label={t('by')} value={view.by} onChange={(by) => choose({ by: by ?? '', sort: '', order: '' })}
        data={[{ value: 'day', label: t('byDay') }, { value: 'hour', label: t('byHour') }, { value: 'stream', label: t('byStream') }]} />
      <Select {...inline} w={190} label={t('meter')} value={state.meter ?? ''} onChange={(meter) => choose({ meter: meter ?? '' })}
        data={[{ value: '', label: common('all') }, ...meters.map((value) => ({ value, label: states(value) }))]} />
    </Group>
  );
}

function History({ history }: { history: UsageHistory }) {
  const t = useUsage();
  const states = useStates();
  const { by, from, to, totals } = history;
  // The end is exclusive: the last day is the one before it.
  const last = new Date(Date.parse(to) - 1).toISOString();
  const span = by === 'hour' ? { from: time(from), to: time(to) } : { from: utcDate(from), to: utcDate(last) };
  if (totals.length === 0) return <Stack align="center" py="xl" role="status"><Empty text={t('empty')} /></Stack>;
  return (
    <>
      <Section title={t('totals')} aside={<Text size="sm" c="dimmed">{t('fromTo', span)}</Text>}>
        <SimpleGrid cols={{ base: 2, sm: 3, md: 4 }} spacing="xs">
          {totals.map(({ meter, amount }) => (
            <Figure key={meter} label={states(meter)} value={amountText(meter, amount)}
              note={meter === 'STORAGE_BYTES' ? t('storageNote') : undefined} />
          ))}
        </SimpleGrid>
        <Text size="xs" c="dimmed" mt="xs">{t('delay')}</Text>
      </Section>
      {by === 'stream' ? <ResourceUsage history={history} /> : <><UsageCharts history={history} /><UsageRows history={history} /></>}
    </>
  );
}
