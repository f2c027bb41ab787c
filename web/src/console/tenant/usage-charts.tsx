import { SimpleGrid } from '@mantine/core';
import { useMemo } from 'react';

import type { UsageHistory } from '../../gen/api.js';
import { Chart, type Line } from '../lib/chart.js';
import { byteUnit, countsBytes } from '../lib/format.js';
import { Section } from '../lib/parts.js';
import { useStates } from '../messages/states.js';
import { useUsage } from '../messages/usage.js';

const hourMs = 3_600_000;
const colours: Line['colour'][] = ['brand', 'teal', 'orange'];

// A graph of each meter with usage. An hour or day that the server leaves out has none.
export function UsageCharts({ history }: { history: UsageHistory }) {
  const t = useUsage();
  const states = useStates();
  const { by, from, to, rows, totals } = history;
  const charts = useMemo(() => {
    const step = by === 'hour' ? hourMs : 24 * hourMs;
    const [first, end] = [Date.parse(from), Math.min(Date.parse(to), Date.now())];
    const starts = Array.from({ length: Math.max(1, Math.ceil((end - first) / step)) }, (_, index) => first + index * step);
    const times = starts.map((at) => at / 1000);
    return totals.map(({ meter }, index) => {
      const amounts = new Map(rows.filter((row) => row.meter === meter).map((row) => [Date.parse(row.startsAt), row.amount]));
      const scale = countsBytes(meter) ? byteUnit(Math.max(1, ...amounts.values())) : null;
      const title = scale ? t('unit', { meter: states(meter), unit: scale.unit }) : states(meter);
      const values = starts.map((at) => (amounts.get(at) ?? 0) / (scale?.size ?? 1));
      const lines: Line[] = [{ label: title, values, colour: colours[index % colours.length] ?? 'brand' }];
      return { meter, title, times, lines };
    });
  }, [by, from, to, rows, totals, t, states]);
  return (
    <SimpleGrid cols={{ base: 1, md: Math.min(2, charts.length) }}>
      {charts.map(({ meter, title, times, lines }) => (
        <Section key={meter} title={title}><Chart title={title} times={times} lines={lines} utcDays={by === 'day'} /></Section>
      ))}
    </SimpleGrid>
  );
}
