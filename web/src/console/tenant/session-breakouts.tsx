import { Button, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import type { BreakoutEventRoom, Participant, Session } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Empty, Section, useChange, useConfirm } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useBreakouts } from '../messages/breakouts.js';
import { useMay } from './identity.js';
import { OpenBreakouts } from './session-breakout-form.js';
import { ParticipantStateBadge } from './session-people.js';

// The rooms' people are asked for at most once in a second altogether.
const leastMs = 5000;
const everyMsOfRoom = 1000;

export function SessionBreakouts({ room }: { room: Session }) {
  const t = useBreakouts();
  const may = useMay();
  const confirm = useConfirm();
  const [opening, setOpening] = useState(false);
  const rooms = room.breakouts ?? [];
  const closing = useChange(() => (
    unwrap(client.POST('/v1/me/sessions/{id}/breakouts/close', { params: { path: { id: room.id } } }))
  ), { done: t('closed') });
  const everyMs = Math.max(leastMs, rooms.length * everyMsOfRoom);
  return (
    <Section title={t('title')} aside={may('sessions:write') && (
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => setOpening(true)}
          data-testid="open-breakouts">{t(rooms.length > 0 ? 'openMore' : 'open')}</Button>
        {rooms.length > 0 && (
          <Button size="xs" color="red.9" loading={closing.isPending}
            onClick={() => confirm(t('closeAll'), t('closeText', { count: rooms.length }), () => closing.mutate(undefined))}>
            {t('closeAll')}
          </Button>
        )}
      </Group>
    )}>
      {rooms.length === 0 && <Stack align="center" py="sm" role="status"><Empty text={t('none')} /></Stack>}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="xs">
        {rooms.map((one) => <BreakoutCard key={one.id} room={one} everyMs={everyMs} />)}
      </SimpleGrid>
      {opening && <OpenBreakouts room={room} close={() => setOpening(false)} />}
    </Section>
  );
}

function BreakoutCard({ room: { id, name, closesAt }, everyMs }: { room: BreakoutEventRoom; everyMs: number }) {
  const t = useBreakouts();
  const list = useCursorList<Participant>(['session-participants', id], (query, signal) => (
    client.GET('/v1/me/sessions/{id}/participants', { params: { path: { id }, query }, signal })
  ), everyMs);
  return (
    <Paper withBorder p="sm" data-testid="breakout">
      <Link className="link prose" to="/sessions/$id" params={{ id } as never}>{name}</Link>
      <Text size="xs" c="dimmed">{closesAt ? t('closesAt', { time: time(closesAt) }) : t('staysOpen')}</Text>
      <ProblemNote error={list.error} onRetry={() => void list.refetch()} />
      <Stack gap={4} mt="xs">
        {list.rows?.length === 0 && <Text size="sm" c="dimmed">{t('empty')}</Text>}
        {list.rows?.map((one) => (
          <Group key={one.userId} justify="space-between" gap="xs" wrap="nowrap">
            <Text size="sm" className="prose">{one.displayName ?? one.userId}</Text>
            <ParticipantStateBadge of={one.state} />
          </Group>
        ))}
      </Stack>
      <MoreButton list={list} />
    </Paper>
  );
}
