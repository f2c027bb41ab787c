import { SimpleGrid, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';

import type { InspectedTrack, StreamInspection } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { Chart } from '../lib/chart.js';
import { number, time } from '../lib/format.js';
import { Figure, Section, Waiting } from '../lib/parts.js';
import { useAdminStreams } from '../messages/admin-streams.js';
import { useWord } from '../messages/admin-words.js';
import { Rows } from './shown.js';

// Tracks, outputs and timestamps of a stream as the server measures them, refreshed every four seconds.
export function Inspector({ id }: { id: string }) {
  const t = useAdminStreams();
  const query = api.useQuery('get', '/v1/admin/stream-inspector/{streamId}', { params: { path: { streamId: id } } },
    { refetchInterval: 4000 });
  if (!query.data) return <Section title={t('inspector')}><Waiting query={query} /></Section>;
  return (
    <Section title={t('inspector')} aside={<Text size="xs" c="dimmed">{t('measured', { time: time(query.data.at) })}</Text>}>
      <Stack><Timing of={query.data} /><Graphs points={query.data.healthHistory} /><Parts of={query.data} /></Stack>
    </Section>
  );
}

function Timing({ of: { keyFrames, timing } }: { of: StreamInspection }) {
  const t = useAdminStreams();
  if (!keyFrames && !timing) return null;
  const ms = (value: number | undefined) => (value == null ? '–' : `${number(Math.round(value))} ms`);
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      <Figure label={t('keyFrames')} value={keyFrames ? `${number(keyFrames.averageSec)} s` : '–'} />
      <Figure label={t('jitter')} value={ms(timing?.arrivalJitterMs)} />
      <Figure label={t('offset')} value={ms(timing?.avOffsetMs ?? undefined)} />
      <Figure label={t('jumps')} value={number(timing?.jumps)} />
    </SimpleGrid>
  );
}

function Graphs({ points }: { points: StreamInspection['healthHistory'] }) {
  const t = useAdminStreams();
  const times = useMemo(() => points.map(({ at }) => Date.parse(at) / 1000), [points]);
  const [bitrate, frames, audience] = useMemo(() => [
    [{ label: t('videoKbps'), values: points.map(({ videoKbps }) => videoKbps), colour: 'brand' as const },
      { label: t('audioKbps'), values: points.map(({ audioKbps }) => audioKbps), colour: 'teal' as const }],
    [{ label: t('fps'), values: points.map(({ fps }) => fps), colour: 'orange' as const }],
    [{ label: t('viewers'), values: points.map(({ viewerCount }) => viewerCount), colour: 'brand' as const }],
  ], [points, t]);
  if (points.length < 2) return <Text size="sm" c="dimmed">{t('noHistory')}</Text>;
  return (
    <SimpleGrid cols={{ base: 1, md: 3 }}>
      {([[t('bitrate'), bitrate], [t('frames'), frames], [t('audience'), audience]] as const).map(([title, lines]) => (
        <div key={title}><Text size="sm" fw={600} mb={4}>{title}</Text><Chart title={title} times={times} lines={lines ?? []} /></div>
      ))}
    </SimpleGrid>
  );
}

function formatOf({ width, height, fps, sampleRateHz, channels }: InspectedTrack): string {
  if (width) return `${width} × ${height}${fps ? ` · ${number(fps)} fps` : ''}`;
  return sampleRateHz ? `${number(sampleRateHz)} Hz · ${channels ?? '–'}` : '–';
}

function Parts({ of: { tracks, outputs } }: { of: StreamInspection }) {
  const t = useAdminStreams();
  const word = useWord();
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Rows title={t('tracks')} head={[t('kind'), t('codec'), t('format'), t('kbps')]} empty={t('noTracks')}
        rows={tracks.map((track, index) => ({
          key: String(index), cells: [word(track.kind), track.codecString ?? track.codec, formatOf(track), number(track.bitrateKbps)],
        }))} />
      <Rows title={t('outputs')} head={[t('kind'), t('readers'), t('kbps'), t('dropped')]} empty={t('noOutputs')}
        rows={outputs.map((output, index) => ({
          key: String(index),
          cells: [`${word(output.kind)} ${output.name ?? ''}`, number(output.readers), number(output.bitrateKbps),
            number(output.droppedUnits)],
        }))} />
    </SimpleGrid>
  );
}
