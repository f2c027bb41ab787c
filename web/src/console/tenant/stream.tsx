import { Alert, Button, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';

import type { Stream } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { Chart } from '../lib/chart.js';
import { number } from '../lib/format.js';
import { keepNewKey, newKeyOf } from '../lib/new-keys.js';
import { Figure, Heading, Section, Status, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { CopyText, ProblemNote } from '../lib/problem.js';
import { useConsole } from '../messages/console.js';
import { useStates } from '../messages/states.js';
import { useStreamTexts } from '../messages/stream.js';
import { useMay, useMayCall } from './identity.js';
import { RecordingList } from './recordings.js';
import { StreamChat } from './stream-chat.js';
import { EditStream } from './stream-edit.js';
import { FunnelSection } from './stream-funnel.js';
import { StreamRoutes } from './stream-routes.js';

export default function StreamPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const may = useMay();
  const previewed = useMayCall()('createPlaybackUrl');
  const t = useConsole();
  const texts = useStreamTexts();
  const states = useStates();
  const [editing, setEditing] = useState(false);
  const query = api.useQuery('get', '/v1/me/streams/{id}', { params: { path: { id } } }, { refetchInterval: 3000 });
  const stream = query.data;
  const start = useChange(() => unwrap(client.POST('/v1/me/streams/{id}/recordings/start', { params: { path: { id } }, body: {} })));
  if (!stream) return <Waiting query={query} />;
  return (
    <Stack>
      <Heading title={stream.name}><Status of={stream.status} label={states(stream.status)} />
        <Link className="link" to="/shopping" search={{ stream: id } as never}>{texts('shopping')}</Link>
        {may('streams:write') && <Button size="xs" variant="default" onClick={() => setEditing(true)} data-testid="edit-stream">{texts('edit')}</Button>}
      </Heading>
      {editing && <EditStream stream={stream} close={() => setEditing(false)} />}
      <StreamKey stream={stream} />
      <SimpleGrid cols={{ base: 1, md: previewed ? 2 : 1 }}>
        {previewed && <Section title={t('preview')}>{stream.status === 'LIVE' ? <Preview id={id} /> : <Text size="sm" c="dimmed">{t('notLive')}</Text>}</Section>}
        <Health stream={stream} />
      </SimpleGrid>
      {may('restream:read') && <StreamRoutes stream={stream} />}
      {may('commerce:read') && <FunnelSection id={id} />}
      {may('chat:read') && <StreamChat id={id} />}
      {may('recordings:read') && (
        <Section title={t('recordings')} aside={stream.status === 'LIVE' && may('recordings:write')
          && <Button size="xs" variant="default" loading={start.isPending} onClick={() => start.mutate(undefined)}>{t('startRecording')}</Button>}>
          <RecordingList streamID={id} />
        </Section>
      )}
    </Stack>
  );
}

function StreamKey({ stream }: { stream: Stream }) {
  const t = useConsole();
  const mayCall = useMayCall();
  const confirm = useConfirm();
  const [whole, setWhole] = useState(newKeyOf(stream.id));
  const rotate = useChange(() => unwrap(client.POST('/v1/me/streams/{id}/rotate-key', { params: { path: { id: stream.id } } })), {
    after: ({ streamKey }) => { keepNewKey(stream.id, streamKey); setWhole(streamKey); },
  });
  return (
    <Section title={t('streamKey')} aside={mayCall('rotateStreamKey') && (
      <Button size="xs" variant="default" loading={rotate.isPending} onClick={() => confirm(t('rotate'), t('rotateText'), () => rotate.mutate(undefined))}>{t('rotate')}</Button>
    )}>
      <Stack gap="xs">
        {whole && <Alert variant="outline" color="brand" title={t('keyShown')} role="status" />}
        <Group gap="xs"><Code data-testid="stream-key">{whole ?? stream.streamKey}</Code>{whole && <CopyText text={whole} />}</Group>
        <Text size="sm">{t('ingestUrl')}</Text>
        <Group gap="xs"><Code>{stream.ingestUrl}</Code><CopyText text={stream.ingestUrl} /></Group>
      </Stack>
    </Section>
  );
}

// The player of this server, in a frame. Another URL would start it again, so it keeps the one that it was opened with: who watches a
// broadcast can go on to its end.
function Preview({ id }: { id: string }) {
  const t = useConsole();
  const playback = useQuery({
    queryKey: ['playback', id],
    queryFn: () => unwrap(client.POST('/v1/me/streams/{id}/playback-url', { params: { path: { id } }, body: {} })),
    staleTime: 'static', gcTime: 0,
  });
  if (!playback.data) return <ProblemNote error={playback.error} />;
  return <iframe className="preview" title={t('preview')} src={`/player?src=${encodeURIComponent(playback.data.url)}`} allow="autoplay; fullscreen" />;
}

const kept = 200; // measurements, about ten minutes

interface Measured { at: number; video: number; audio: number; viewers: number }

function Health({ stream }: { stream: Stream }) {
  const t = useConsole();
  const states = useStates();
  const { health, viewerCount, status } = stream;
  const [points, setPoints] = useState<Measured[]>([]);
  useEffect(() => {
    if (status !== 'LIVE') return;
    const point = { at: Date.now() / 1000, video: health.videoKbps, audio: health.audioKbps, viewers: viewerCount };
    setPoints((was) => [...was, point].slice(-kept));
  }, [health, viewerCount, status]);
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  const lines = useMemo(() => [
    { label: t('videoKbps'), values: points.map(({ video }) => video), colour: 'brand' as const },
    { label: t('audioKbps'), values: points.map(({ audio }) => audio), colour: 'teal' as const },
  ], [points, t]);
  return (
    <Section title={t('health')} aside={<Status of={health.state} label={states(health.state)} />}>
      <SimpleGrid cols={2} spacing="xs">
        <Figure label={t('viewers')} value={number(viewerCount)} />
        <Figure label={t('videoKbps')} value={number(health.videoKbps)} />
        <Figure label={t('resolution')} value={health.width ? `${health.width} × ${health.height}` : '–'} />
        <Figure label={t('fps')} value={number(health.fps)} />
      </SimpleGrid>
      {health.reason && <Text size="sm" mt="xs">{health.reason}</Text>}
      {points.length > 1 && <Chart title={t('health')} times={times} lines={lines} />}
    </Section>
  );
}
