import { Badge, Button, Group, Menu, Text } from '@mantine/core';

import type { Participant, ParticipantRole, ParticipantState, Session } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Empty, Section, Status, useChange, useConfirm } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { useRooms } from '../messages/rooms.js';
import { useMay } from './identity.js';

type Act = 'mute' | 'kick' | 'admit' | 'promote' | 'demote' | 'spotlight' | 'unspotlight' | 'lowerHand';
const roles = { host: 'roleHost', cohost: 'roleCohost', guest: 'roleGuest', viewer: 'roleViewer' } as const satisfies Record<ParticipantRole, string>;
const states = {
  invited: 'stateInvited', waiting: 'stateWaiting', joined: 'stateJoined', left: 'stateLeft', kicked: 'stateKicked',
} as const satisfies Record<ParticipantState, string>;

const withId = (one: Participant) => ({ ...one, id: one.userId });

export function ParticipantStateBadge({ of }: { of: ParticipantState }) {
  const t = useRooms();
  return <Status of={of} label={t(states[of])} />;
}

function run(act: Act, id: string, userId: string): Promise<unknown> {
  const [one, room] = [{ params: { path: { id, userId } } }, { params: { path: { id } } }];
  switch (act) {
    case 'mute': return unwrap(client.POST('/v1/me/sessions/{id}/moderate/mute', { ...room, body: { userId } }));
    case 'kick': return unwrap(client.DELETE('/v1/me/sessions/{id}/participants/{userId}', one));
    case 'admit': return unwrap(client.POST('/v1/me/sessions/{id}/participants/{userId}/admit', one));
    case 'promote': return unwrap(client.POST('/v1/me/sessions/{id}/moderate/promote', { ...room, body: { userId, role: 'cohost' } }));
    case 'demote': return unwrap(client.PATCH('/v1/me/sessions/{id}/participants/{userId}', { ...one, body: { role: 'guest' } }));
    case 'lowerHand': return unwrap(client.POST('/v1/me/sessions/{id}/moderate/hand-lower', { ...room, body: { userId } }));
    default: return unwrap(client.POST('/v1/me/sessions/{id}/moderate/spotlight', { ...room, body: { userId: act === 'spotlight' ? userId : null } }));
  }
}

// The acts that make sense for a participant of a live session.
function actsOn({ role, state, handRaised, userId }: Participant, room: Session): Act[] {
  const joined = state === 'joined';
  const acts: (Act | false)[] = [
    (state === 'waiting' || state === 'kicked') && 'admit', joined && role !== 'viewer' && 'mute', handRaised && 'lowerHand',
    joined && (room.spotlightUserId === userId ? 'unspotlight' : 'spotlight'),
    room.type !== 'call' && (role === 'guest' || role === 'viewer') && state !== 'kicked' && 'promote', role === 'cohost' && 'demote',
    role !== 'host' && state !== 'kicked' && 'kick',
  ];
  return acts.filter((act) => act !== false);
}

export function SessionPeople({ room }: { room: Session }) {
  const t = useRooms();
  const common = useCommon();
  const may = useMay();
  const confirm = useConfirm();
  const path = { path: { id: room.id } };
  const touches = [['session-participants', room.id], ['get', '/v1/me/sessions/{id}', { params: path }]];
  const list = useCursorList<Participant>(['session-participants', room.id], (query, signal) => (
    client.GET('/v1/me/sessions/{id}/participants', { params: { ...path, query }, signal })
  ), 4000);
  const change = useChange(({ act, userId }: { act: Act; userId: string }) => run(act, room.id, userId), { done: common('done'), touches });
  const muteAll = useChange(() => unwrap(client.POST('/v1/me/sessions/{id}/moderate/mute-all', { params: path, body: { exceptHost: true } })), { done: common('done'), touches });
  const moderates = room.state === 'live' && may('sessions:write');
  const choose = (act: Act, { userId, displayName }: Participant) => {
    const go = () => change.mutate({ act, userId });
    if (act === 'kick') confirm(t('kick'), t('kickText', { name: displayName ?? userId }), go);
    else go();
  };
  const nameOf = ({ displayName, userId }: Participant) => displayName ?? userId;
  return (
    <Section title={t('participants')} aside={moderates && (
      <Button size="xs" variant="default" onClick={() => confirm(t('muteAll'), t('muteAllText'), () => muteAll.mutate(undefined))}>{t('muteAll')}</Button>
    )}>
      <DataList<Participant & { id: string }> name="participants" label={t('participants')} rows={list.rows?.map(withId)} rest={async () => { const { rows, complete } = await list.rest(); return { rows: rows.map(withId), complete }; }}
        error={list.error} retry={() => void list.refetch()} fetching={list.isFetching} empty={<Empty text={t('noParticipants')} />} more={<MoreButton list={list} />}
        columns={[
          { key: 'name', title: common('name'), value: nameOf, render: (one) => (
            <Group gap={6}>
              <Text size="sm">{nameOf(one)}</Text>
              {one.handRaised && <Badge size="sm" variant="outline" color="orange.9">{t('handUp')}</Badge>}
              {room.spotlightUserId === one.userId && <Badge size="sm" variant="outline">{t('inSpotlight')}</Badge>}
            </Group>
          ) },
          { key: 'role', title: common('role'), value: ({ role }) => t(roles[role]) },
          { key: 'state', title: common('status'), value: ({ state }) => t(states[state]), render: ({ state }) => <ParticipantStateBadge of={state} /> },
          { key: 'joined', title: t('joined'), value: ({ joinedAt }) => joinedAt, render: ({ joinedAt }) => time(joinedAt), wide: true },
        ]}
        actions={moderates ? (one) => {
          const acts = actsOn(one, room);
          return acts.length > 0 && (
            <Menu position="bottom-end">
              <Menu.Target>
                <Button size="compact-xs" variant="default" aria-label={t('moderateName', { name: nameOf(one) })}>…</Button>
              </Menu.Target>
              <Menu.Dropdown>
                {acts.map((act) => (
                  <Menu.Item key={act} color={act === 'kick' ? 'var(--mantine-color-error)' : undefined} onClick={() => choose(act, one)}>{t(act)}</Menu.Item>
                ))}
              </Menu.Dropdown>
            </Menu>
          );
        } : undefined} />
    </Section>
  );
}
