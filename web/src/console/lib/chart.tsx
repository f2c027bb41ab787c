import { useMantineColorScheme, useMantineTheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import type uPlot from 'uplot';

import { number, tickTime } from './format.js';
import { useLanguage } from './i18n.js';
import { ProblemNote } from './problem.js';

// The library of the graphs, once it is loaded: a screen is shown without it.
let library: typeof uPlot | undefined;

export interface Line { label: string; values: (number | null)[]; colour: 'brand' | 'teal' | 'orange' }

// A graph of values over time. times are in seconds since 1970. utcDays: each is the beginning of a day in UTC.
export function Chart({ title, times, lines, utcDays = false }: { title: string; times: number[]; lines: Line[]; utcDays?: boolean }) {
  const { ref: box, width } = useElementSize();
  const at = useRef<HTMLDivElement>(null);
  const theme = useMantineTheme();
  const { colorScheme } = useMantineColorScheme();
  const language = useLanguage();
  const [failure, setFailure] = useState<unknown>(null);
  const dark = colorScheme === 'dark' || (colorScheme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    if (!at.current || width === 0) return;
    const ink = dark ? '#a9a9bb' : '#5d5d70';
    const axis = { stroke: ink, grid: { stroke: dark ? '#343444' : '#e6e6ee' }, ticks: { stroke: ink } };
    let plot: uPlot | undefined;
    let gone = false;
    const draw = (Plot: typeof uPlot) => {
      if (gone || !at.current) return;
      plot = new Plot({
        width, height: 200,
        legend: { live: false },
        padding: [null, 32, null, null], // the last time is centred below the right edge
        // From 0, or a change of less than a percent would fill the graph.
        scales: { y: { range: { min: { pad: 0.1, soft: 0, mode: 1 }, max: { pad: 0.1, soft: 0, mode: 2 } } } },
        ...(utcDays && { tzDate: (at: number) => Plot.tzDate(new Date(at * 1000), 'Etc/UTC') }),
        axes: [
          { ...axis, values: (_, ticks) => ticks.map((tick) => tickTime(tick, (times.at(-1) ?? 0) - (times[0] ?? 0), utcDays)) },
          { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => number(tick)) },
        ],
        series: [{}, ...lines.map(({ label, colour }) => ({ label, width: 2, stroke: theme.colors[colour]?.[dark ? 3 : 6] ?? ink }))],
      }, [times, ...lines.map(({ values }) => values)], at.current);
    };
    if (library) draw(library);
    else import('uplot').then((module) => { library = module.default; draw(library); }).catch(setFailure);
    return () => { gone = true; plot?.destroy(); };
  }, [width, dark, times, lines, theme, language, utcDays, failure]);
  if (failure) return <ProblemNote error={failure} onRetry={() => setFailure(null)} />;
  return <div ref={box} className="chart" role="img" aria-label={title}><div ref={at} /></div>;
}
