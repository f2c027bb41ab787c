import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';

import type { Session, SessionState } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { Section, Status, useChange, useConfirm } from '../lib/parts.js';
import { useCommon } from '../messages/common.js';
import { useCalls } from '../messages/calls.js';
import { useMay, useMayCall } from './identity.js';
import { roomLink, RoomLinkNote, type RoomLink } from './room-link.js';

const states = {
  waiting: { of: 'PENDING', label: 'ringing', text: 'ringingText' }, live: { of: 'ACTIVE', label: 'talking', text: 'talkingText' },
  ended: { of: 'ENDED', label: 'over', text: 'overText' }, cancelled: { of: 'FAILED', label: 'unanswered', text: 'unansweredText' },
} as const satisfies Record<SessionState, { of: string; label: string; text: string }>;

// A call between two users, and the acts of either. The operator acts in the name of the user whom the button says.
export function SessionCall({ room }: { room: Session }) {
  const t = useCalls();
  const common = useCommon();
  const may = useMay();
  const mayCall = useMayCall();
  const confirm = useConfirm();
  const [link, setLink] = useState<RoomLink | null>(null);
  const people = (room.participants ?? []).map(({ userId, displayName }) => ({ userId, name: displayName ?? userId }));
  const caller = people.find(({ userId }) => userId === room.hostId) ?? { userId: room.hostId, name: room.hostId };
  const callee = people.find(({ userId }) => userId !== room.hostId);
  const path = { params: { path: { id: room.id } } };
  type Person = typeof caller;
  const token = useChange(async ({ userId, name }: Person) => {
    const made = await unwrap(client.POST('/v1/me/sessions/{id}/token', { ...path, body: { userId } }));
    return roomLink(room.id, made.token, name);
  }, { after: setLink });
  const answer = useChange(async ({ userId, name }: Person) => {
    const made = await unwrap(client.POST('/v1/me/calls/{id}/answer', { ...path, body: { userId } }));
    return roomLink(room.id, made.token, name);
  }, { after: setLink });
  const decline = useChange(({ userId }: Person) => (
    unwrap(client.POST('/v1/me/calls/{id}/decline', { ...path, body: { userId } }))
  ), { done: common('done') });
  const end = useChange(({ userId }: Person) => (
    unwrap(client.POST('/v1/me/calls/{id}/end', { ...path, body: { userId } }))
  ), { done: common('done') });
  const { of, label, text } = states[room.state];
  const [ringing, talking] = [room.state === 'waiting', room.state === 'live'];
  const name = callee?.name ?? '';
  const writes = may('sessions:write') && (ringing || talking);
  return (
    <Section title={t('call')} aside={<Status of={of} label={t(label)} />}>
      <Stack gap="xs">
        <Text size="sm">{t(ringing && !room.projectId ? 'silentText' : text, { name })}</Text>
        <Text size="sm" c="dimmed" className="prose">{t('caller')}: {caller.name}{callee && ` · ${t('callee')}: ${callee.name}`}</Text>
        {writes && (
          <Group gap="xs">
            {mayCall('createSessionToken') && [caller, talking ? callee : undefined].filter((one) => one !== undefined).map((one) => (
              <Button key={one.userId} size="xs" variant="default" loading={token.isPending && token.variables.userId === one.userId}
                onClick={() => token.mutate(one)}>
                {t('linkFor', { name: one.name })}
              </Button>
            ))}
            {ringing && callee && mayCall('answerCall') && (
              <Button size="xs" variant="default" loading={answer.isPending}
                onClick={() => answer.mutate(callee)}>{t('answerAs', { name })}</Button>
            )}
            {ringing && callee && (
              <Button size="xs" variant="default" loading={decline.isPending}
                onClick={() => confirm(t('declineAs', { name }), t('declineText', { name }), () => decline.mutate(callee))}>
                {t('declineAs', { name })}
              </Button>
            )}
            <Button size="xs" color="red.9" loading={end.isPending} onClick={() => (ringing
              ? confirm(t('takeBack'), t('takeBackText', { name }), () => end.mutate(caller))
              : confirm(t('hangUp'), t('hangUpText'), () => end.mutate(caller)))}>{t(ringing ? 'takeBack' : 'hangUp')}</Button>
          </Group>
        )}
        {link && writes && <RoomLinkNote link={link} />}
      </Stack>
    </Section>
  );
}
