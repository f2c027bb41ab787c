import { Button, Fieldset, Group, NativeSelect, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Participant, Session } from '../../gen/api.js';
import { newActionKey } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { number } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useBreakouts } from '../messages/breakouts.js';

const mostRooms = 20;
const mostMinutes = 1440;
// The most people that the server invites to one room, and that can be in it at one time.
const mostInvited = 1000;
const mostSeats = 50;

const isAssignable = ({ role, state }: Participant) => role !== 'host' && state !== 'kicked';

export function OpenBreakouts({ room, close }: { room: Session; close: () => void }) {
  const t = useBreakouts();
  const [count, setCount] = useState('2');
  const [minutes, setMinutes] = useState('');
  // The room's number of each person.
  const [chosen, setChosen] = useState<Record<string, number>>({});
  // A repeated request with the same content opens the rooms once.
  const [actionKey, setActionKey] = useState(newActionKey);
  const renew = () => setActionKey(newActionKey());
  const list = useCursorList<Participant>(['session-participants', room.id], (query, signal) => (
    client.GET('/v1/me/sessions/{id}/participants', { params: { path: { id: room.id }, query }, signal })
  ));
  const shown = (list.rows ?? []).filter(isAssignable);
  // The people behind the loaded part of the list. They get rooms, but no fields.
  const [others, setOthers] = useState<Participant[]>([]);
  const people = [...new Map([...others, ...shown].map((one) => [one.userId, one])).values()];
  const [read, setRead] = useState(0);
  const [partly, setPartly] = useState(false);
  const rooms = Math.min(mostRooms, Math.max(0, Math.floor(Number(count)) || 0));
  const roomOf = (userId: string) => { const at = chosen[userId] ?? 0; return at <= rooms ? at : 0; };
  const assign = (next: Record<string, number>) => { setChosen(next); renew(); };
  const assignments: Record<string, string[]> = {};
  for (const { userId } of people) if (roomOf(userId) > 0) (assignments[roomOf(userId)] ??= []).push(userId);
  const choices = [...Array(rooms + 1).keys()].map((at) => (
    { value: String(at), label: at === 0 ? t('noRoom') : t('room', { number: at }) }
  ));
  const assigned = people.filter(({ userId }) => roomOf(userId) > 0).length;
  const seats = Math.min(mostSeats, room.capacity);
  const most = Math.max(0, ...Object.values(assignments).map(({ length }) => length));
  const spread = useChange(async () => {
    setRead(shown.length);
    const { rows, complete } = await list.rest((found) => setRead(shown.length + found));
    const more = rows.filter(isAssignable);
    setOthers(more);
    setPartly(!complete);
    const all = new Set([...shown, ...more].map(({ userId }) => userId));
    assign(Object.fromEntries([...all].slice(0, rooms * mostInvited).map((userId, index) => [userId, index % rooms + 1])));
  }, { shows: true, touches: [] });
  const counted = !partly && (!list.hasNextPage || spread.isSuccess);
  const open = useChange(() => unwrap(client.POST('/v1/me/sessions/{id}/breakouts', {
    params: { path: { id: room.id }, header: { 'Idempotency-Key': actionKey } },
    body: { count: Number(count), assignments, ...(minutes && { durationSec: Number(minutes) * 60 }) },
  })), { shows: true, done: t('opened'), after: close });
  const faults = fieldErrors(open.error);
  const fault = Object.entries(faults).find(([field]) => field.startsWith('assignments'))?.[1];
  return (
    <FormModal title={t('open')} open close={close} submit={() => open.mutate(undefined)} busy={open.isPending} error={open.error}
      action={t('openAction')}>
      <TextInput label={t('count')} description={t('countHint')} name="count" type="number" required min={1} max={mostRooms} value={count}
        error={faults.count} data-autofocus
        onChange={(event) => { setCount(event.currentTarget.value); renew(); }} />
      <TextInput label={t('minutes')} description={t('minutesHint')} name="minutes" type="number" min={1} max={mostMinutes} step={1}
        value={minutes} error={faults.durationSec}
        onChange={(event) => { setMinutes(event.currentTarget.value); renew(); }} />
      <ProblemNote error={list.error} onRetry={() => void list.refetch()} />
      <Fieldset legend={t('people')} p="sm">
        {people.length === 0 && !list.isFetching && <Text size="sm" c="dimmed">{t('noPeople')}</Text>}
        {people.length > 0 && (
          <Stack gap="xs">
            <Group gap="xs">
              <Button size="compact-xs" variant="default" disabled={rooms === 0} loading={spread.isPending}
                onClick={() => spread.mutate(undefined)}>
                {t('spread')}
              </Button>
              <Button size="compact-xs" variant="default" disabled={assigned === 0} onClick={() => assign({})}>{t('clear')}</Button>
              <Text size="xs" c="dimmed" role="status">
                {spread.isPending ? t('reading', { n: number(read) }) : t(counted ? 'assigned' : 'assignedOfMore', { assigned: number(assigned), total: number(people.length) })}
              </Text>
            </Group>
            <ScrollArea.Autosize mah={260} type="auto">
              <Stack gap={4}>
                {shown.map(({ userId, displayName }) => (
                  <Group key={userId} justify="space-between" gap="xs" wrap="nowrap">
                    <Text size="sm" className="prose">{displayName ?? userId}</Text>
                    <NativeSelect size="xs" miw={110} aria-label={t('roomOf', { name: displayName ?? userId })} value={roomOf(userId)}
                      onChange={(event) => assign({ ...chosen, [userId]: Number(event.currentTarget.value) })}
                      data={choices} />
                  </Group>
                ))}
              </Stack>
            </ScrollArea.Autosize>
            {people.length > shown.length && <Text size="xs" c="dimmed">{t('others', { n: number(people.length - shown.length) })}</Text>}
            <MoreButton list={list} />
            <ProblemNote error={spread.error} />
            {partly && <Text size="xs" c="var(--mantine-color-error)">{t('partly', { n: number(people.length) })}</Text>}
            {others.length > 0 && assigned === rooms * mostInvited && people.length > assigned && (
              <Text size="xs" c="var(--mantine-color-error)">{t('overfull', { most: number(mostInvited), n: number(people.length - assigned) })}</Text>
            )}
            {most > seats && <Text size="xs" c="var(--mantine-color-error)">{t('crowded', { most: number(most), seats: number(seats) })}</Text>}
          </Stack>
        )}
        {fault && <Text size="xs" mt={4} c="var(--mantine-color-error)">{fault}</Text>}
      </Fieldset>
      <Text size="xs" c="dimmed">{t('hint')}{room.breakouts?.length ? ` ${t('numbering')}` : ''}</Text>
    </FormModal>
  );
}
