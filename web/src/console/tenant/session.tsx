import { Alert, Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { Session } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { Figure, Heading, Section, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useBreakouts } from '../messages/breakouts.js';
import { useRooms } from '../messages/rooms.js';
import { useMay, useMayCall } from './identity.js';
import { roomLink, RoomLinkNote, type RoomLink } from './room-link.js';
import { SessionBreakouts } from './session-breakouts.js';
import { SessionBroadcast } from './session-broadcast.js';
import { SessionCall } from './session-call.js';
import { SessionPeople } from './session-people.js';
import { SessionRecordings, SessionSummarySection, SessionTranscript } from './session-record.js';
import { SessionStateBadge } from './sessions.js';

export default function SessionPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useRooms();
  const may = useMay();
  const mayCall = useMayCall();
  const breakouts = useBreakouts();
  const query = api.useQuery('get', '/v1/me/sessions/{id}', { params: { path: { id } } }, { refetchInterval: 5000 });
  const room = query.data;
  if (!room) return <Waiting query={query} />;
  const open = room.state === 'live' || room.state === 'waiting';
  const isCall = room.type === 'call';
  return (
    <Stack>
      <Heading title={room.name || t(room.type)}>{!isCall && <SessionStateBadge of={room.state} />}{open && !isCall && may('sessions:write') && <Controls room={room} />}</Heading>
      {room.locked && open && <Alert variant="outline" role="status" title={t('locked')} />}
      {room.parentSessionId && (
        <Text size="sm">{breakouts('parent')} <Link className="link" to="/sessions/$id" params={{ id: room.parentSessionId } as never}>{breakouts('toParent')}</Link></Text>
      )}
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="xs">
        <Figure label={t('type')} value={t(room.type)} />
        <Figure label={t('people')} value={t('people2', { count: number(room.participantCount), capacity: number(room.capacity) })} />
        <Figure label={t('host')} value={room.hostId} />
        <Figure label={t('started')} value={<Text component="span" size="sm">{time(room.startedAt)}</Text>} />
      </SimpleGrid>
      {isCall && <SessionCall room={room} />}
      {open && !isCall && mayCall('createSessionToken') && <Links room={room} />}
      {room.state === 'live' && !isCall && !room.parentSessionId && <SessionBreakouts room={room} />}
      {!isCall && <SessionBroadcast room={room} />}
      <SessionPeople room={room} />
      <SessionRecordings room={room} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <SessionSummarySection room={room} />
        <SessionTranscript room={room} />
      </SimpleGrid>
    </Stack>
  );
}

function Controls({ room }: { room: Session }) {
  const t = useRooms();
  const confirm = useConfirm();
  const path = { params: { path: { id: room.id } } };
  const end = useChange(() => unwrap(client.POST('/v1/me/sessions/{id}/end', path)));
  const lock = useChange((locked: boolean) => unwrap(client.PATCH('/v1/me/sessions/{id}', { ...path, body: { locked } })));
  return (
    <>
      <Button size="xs" variant="default" loading={lock.isPending} onClick={() => lock.mutate(!room.locked)}>{t(room.locked ? 'unlock' : 'lock')}</Button>
      <Button size="xs" color="red.9" loading={end.isPending} onClick={() => confirm(t('end'), t('endText'), () => end.mutate(undefined))}>{t('end')}</Button>
    </>
  );
}

// Links to the room page of this server. Each has the token of one participant.
function Links({ room }: { room: Session }) {
  const t = useRooms();
  const [userId, setUser] = useState('');
  const [displayName, setName] = useState('');
  const [made, setMade] = useState<RoomLink | null>(null);
  const create = useChange(async (guest: { userId: string; displayName?: string }) => {
    const { token } = await unwrap(client.POST('/v1/me/sessions/{id}/token', { params: { path: { id: room.id } }, body: guest }));
    return roomLink(room.id, token, guest.displayName || guest.userId);
  }, { shows: true, after: setMade });
  return (
    <Section title={t('links')} aside={(
      <Button size="xs" variant="default" onClick={() => create.mutate({ userId: room.hostId })}>{t('hostLink')}</Button>
    )}>
      <form onSubmit={(event) => { event.preventDefault(); create.mutate({ userId, ...(displayName && { displayName }) }); }}>
        <Stack gap="xs">
          <Text size="sm" c="dimmed">{t('linksText')}</Text>
          <Group align="end" gap="xs">
            <TextInput size="xs" label={t('guestID')} name="userId" required maxLength={128} value={userId}
              onChange={(event) => setUser(event.currentTarget.value)} />
            <TextInput size="xs" label={t('guestName')} name="displayName" maxLength={120} value={displayName}
              onChange={(event) => setName(event.currentTarget.value)} />
            <Button size="xs" type="submit" loading={create.isPending} data-testid="guest-link">{t('guestLink')}</Button>
          </Group>
          <ProblemNote error={create.error} />
          {made && <RoomLinkNote link={made} />}
        </Stack>
      </form>
    </Section>
  );
}
