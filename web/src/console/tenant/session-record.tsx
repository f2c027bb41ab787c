import { Anchor, Button, Group, List, ScrollArea, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { Session, SessionRecording, TranscriptLine } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { saveFile } from '../lib/csv.js';
import { useCursorList } from '../lib/cursor.js';
import { bytes, duration, safeLink, time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Empty, Section, Status, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useBroadcast } from '../messages/broadcast.js';
import { useRooms } from '../messages/rooms.js';
import { useMay } from './identity.js';

export function SessionRecordings({ room }: { room: Session }) {
  const t = useRooms();
  const may = useMay();
  const path = { path: { id: room.id } };
  const list = useCursorList<SessionRecording>(['session-recordings', room.id], (query, signal) => (
    client.GET('/v1/me/sessions/{id}/recordings', { params: { ...path, query }, signal })
  ), 15_000);
  const start = useChange(() => unwrap(client.POST('/v1/me/sessions/{id}/recording/start', { params: path, body: {} })));
  const stop = useChange((recId: string) => (
    unwrap(client.POST('/v1/me/sessions/{id}/recording/{recId}/stop', { params: { path: { id: room.id, recId } } }))
  ));
  const { recordingId } = room;
  const button = recordingId
    ? <Button size="xs" color="red.9" loading={stop.isPending} onClick={() => stop.mutate(recordingId)}>{t('stopRecording')}</Button>
    : <Button size="xs" variant="default" loading={start.isPending} onClick={() => start.mutate(undefined)}>{t('startRecording')}</Button>;
  return (
    <Section title={t('recordings')} aside={room.state === 'live' && room.type !== 'call' && may('sessions:write') && button}>
      <ProblemNote error={list.error} onRetry={() => void list.refetch()} />
      {list.rows?.length === 0 && <Text size="sm" c="dimmed">{t('noRecordings')}</Text>}
      <Stack gap="xs">
        {list.rows?.map((one) => {
          const page = one.playbackUrl && safeLink(`/player?src=${encodeURIComponent(one.playbackUrl)}`);
          return (
            <Group key={one.id} gap="md">
              <Status of={one.state} label={t(one.state)} />
              {may('recordings:read') ? <Link className="link" to={`/recordings/${one.id}`}><Text span size="sm">{time(one.startedAt)}</Text></Link>
                : <Text size="sm">{time(one.startedAt)}</Text>}
              {one.durationSec !== null && <Text size="sm">{duration(one.durationSec)}</Text>}
              {one.sizeBytes !== null && <Text size="sm">{bytes(one.sizeBytes)}</Text>}
              {page && <Anchor href={page} target="_blank" rel="noreferrer" size="sm" underline="always">{t('watch')}</Anchor>}
              {one.error && <Text size="sm" c="var(--mantine-color-error)">{one.error}</Text>}
              {one.incompleteReason && <Text size="sm">{t('incomplete', { reason: one.incompleteReason })}</Text>}
            </Group>
          );
        })}
        <MoreButton list={list} />
      </Stack>
    </Section>
  );
}

export function SessionSummarySection({ room }: { room: Session }) {
  const t = useRooms();
  const query = api.useQuery('get', '/v1/me/sessions/{id}/summary', { params: { path: { id: room.id } } }, { refetchInterval: 10_000 });
  const summary = query.data?.summary;
  return (
    <Section title={t('summary')}>
      <ProblemNote error={query.error} />
      {query.data && !summary && <Text size="sm" c="dimmed">{t('noSummary')}</Text>}
      {summary && (
        <Stack gap="xs">
          <Text size="sm">{summary.tldr}</Text>
          {(['decisions', 'actionItems', 'highlights'] as const).map((part) => summary[part].length > 0 && (
            <div key={part}>
              <Title order={3} size="h6">{t(part)}</Title>
              <List size="sm">{summary[part].map((text) => <List.Item key={text}>{text}</List.Item>)}</List>
            </div>
          ))}
        </Stack>
      )}
    </Section>
  );
}

export function SessionTranscript({ room }: { room: Session }) {
  const t = useRooms();
  const texts = useBroadcast();
  const list = useCursorList<TranscriptLine>(['session-transcript', room.id], (query, signal) => (
    client.GET('/v1/me/sessions/{id}/transcript', { params: { path: { id: room.id }, query }, signal })
  ), 10_000);
  const file = useChange(() => unwrap(client.GET('/v1/me/sessions/{id}/transcript.vtt', { params: { path: { id: room.id } }, parseAs: 'blob' })), {
    after: (vtt) => saveFile(`transcript-${room.id}.vtt`, vtt), touches: [],
  });
  const hasLines = !!list.rows?.length;
  return (
    <Section title={t('transcript')} aside={hasLines && (
      <Button size="xs" variant="default" loading={file.isPending} onClick={() => file.mutate(undefined)}>{texts('download')}</Button>
    )}>
      <ProblemNote error={list.error} />
      {list.rows?.length === 0 && <Empty text={t('noTranscript')} />}
      {hasLines && (
        <ScrollArea.Autosize mah={360} viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t('transcript') }}>
          <Stack gap={6}>
            {list.rows?.map(({ id, startSec, speaker, text }) => (
              <Text key={id} size="sm"><Text span c="dimmed" size="xs">{duration(startSec)}</Text> <b>{speaker}</b>: {text}</Text>
            ))}
          </Stack>
        </ScrollArea.Autosize>
      )}
      <MoreButton list={list} />
    </Section>
  );
}
