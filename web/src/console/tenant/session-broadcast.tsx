import { Button, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import type { Session, StreamBroadcast, StreamBroadcastState } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { time } from '../lib/format.js';
import { Section, Status, useChange, useConfirm } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useBroadcast } from '../messages/broadcast.js';
import { useMay } from './identity.js';
import { StreamPicker } from './pickers.js';

const colours = { starting: 'PENDING', live: 'LIVE', ended: 'ENDED' } as const satisfies Record<StreamBroadcastState, string>;

// The broadcast of a session into a stream.
export function SessionBroadcast({ room }: { room: Session }) {
  const t = useBroadcast();
  const may = useMay();
  const { broadcast } = room;
  const runs = broadcast && broadcast.state !== 'ended';
  const starts = room.state === 'live' && !runs && may('sessions:write') && may('streams:read');
  if (!broadcast && !starts) return null;
  return (
    <Section title={t('title')} aside={broadcast && <Status of={colours[broadcast.state]} label={t(broadcast.state)} />}>
      <Stack gap="xs">
        {!runs && starts && <Text size="sm" c="dimmed">{t('text')}</Text>}
        {broadcast && <Facts broadcast={broadcast} />}
        {runs && may('sessions:write') && <Stop room={room} />}
        {starts && <Start room={room} />}
      </Stack>
    </Section>
  );
}

function Facts({ broadcast: { state, streamId, startedAt, endedAt, reason } }: { broadcast: StreamBroadcast }) {
  const t = useBroadcast();
  const may = useMay();
  const text = {
    starting: t('startingText'), live: t('liveText', { time: time(startedAt) }),
    ended: [t('endedText', { time: time(endedAt) }), reason && t(reason)].filter(Boolean).join(' '),
  }[state];
  return (
    <Text size="sm">
      {text} {may('streams:read') && <Link className="link" to="/streams/$id" params={{ id: streamId } as never}>{t('toStream')}</Link>}
    </Text>
  );
}

const touches = (id: string) => [['get', '/v1/me/sessions/{id}', { params: { path: { id } } }], ['streams']];

function Stop({ room: { id } }: { room: Session }) {
  const t = useBroadcast();
  const confirm = useConfirm();
  const stop = useChange(() => unwrap(client.DELETE('/v1/me/sessions/{id}/broadcast', { params: { path: { id } } })), {
    touches: touches(id),
  });
  return (
    <Group>
      <Button size="xs" color="red.9" loading={stop.isPending}
        onClick={() => confirm(t('stop'), t('stopText'), () => stop.mutate(undefined))}>{t('stop')}</Button>
    </Group>
  );
}

function Start({ room: { id } }: { room: Session }) {
  const t = useBroadcast();
  const [streamId, setStream] = useState<string | null>(null);
  const start = useChange((into: string) => (
    unwrap(client.POST('/v1/me/sessions/{id}/broadcast', { params: { path: { id } }, body: { streamId: into } }))
  ), { shows: true, touches: touches(id) });
  return (
    <form onSubmit={(event) => { event.preventDefault(); if (streamId) start.mutate(streamId); }}>
      <Stack gap="xs" maw={420}>
        <StreamPicker offAir none={t('noStream')} chosen={streamId} choose={setStream} label={t('stream')} hint={t('streamHint')} />
        <ProblemNote error={start.error} />
        <Group><Button size="xs" type="submit" disabled={!streamId} loading={start.isPending}>{t('start')}</Button></Group>
      </Stack>
    </form>
  );
}
