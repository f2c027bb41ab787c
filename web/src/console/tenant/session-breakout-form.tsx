import { Button, Fieldset, Group, NativeSelect, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Participant, Session } from '../../gen/api.js';
import { newActionKey } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { MoreButton } from '../lib/more.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useBreakouts } from '../messages/breakouts.js';

const mostRooms = 20;
const mostMinutes = 1440;

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
  const people = (list.rows ?? []).filter(({ role, state }) => role !== 'host' && state !== 'kicked');
  const rooms = Math.min(mostRooms, Math.max(0, Math.floor(Number(count)) || 0));
  const roomOf = (userId: string) => { const number = chosen[userId] ?? 0; return number <= rooms ? number : 0; };
  const assign = (next: Record<string, number>) => { setChosen(next); renew(); };
  const assignments: Record<string, string[]> = {};
  for (const { userId } of people) if (roomOf(userId) > 0) (assignments[roomOf(userId)] ??= []).push(userId);
  const assigned = people.filter(({ userId }) => roomOf(userId) > 0).length;
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
              <Button size="compact-xs" variant="default" disabled={rooms === 0}
                onClick={() => assign(Object.fromEntries(people.map(({ userId }, index) => [userId, index % rooms + 1])))}>
                {t('spread')}
              </Button>
              <Button size="compact-xs" variant="default" disabled={assigned === 0} onClick={() => assign({})}>{t('clear')}</Button>
              <Text size="xs" c="dimmed" role="status">{t('assigned', { assigned, total: people.length })}</Text>
            </Group>
            <ScrollArea.Autosize mah={260} type="auto">
              <Stack gap={4}>
                {people.map(({ userId, displayName }) => (
                  <Group key={userId} justify="space-between" gap="xs" wrap="nowrap">
                    <Text size="sm" className="prose">{displayName ?? userId}</Text>
                    <NativeSelect size="xs" miw={110} aria-label={t('roomOf', { name: displayName ?? userId })} value={roomOf(userId)}
                      onChange={(event) => assign({ ...chosen, [userId]: Number(event.currentTarget.value) })}
                      data={[...Array(rooms + 1).keys()].map((number) => (
                        { value: String(number), label: number === 0 ? t('noRoom') : t('room', { number }) }
                      ))} />
                  </Group>
                ))}
              </Stack>
            </ScrollArea.Autosize>
            <MoreButton list={list} />
          </Stack>
        )}
        {fault && <Text size="xs" mt={4} c="var(--mantine-color-error)">{fault}</Text>}
      </Fieldset>
      <Text size="xs" c="dimmed">{t('hint')}{room.breakouts?.length ? ` ${t('numbering')}` : ''}</Text>
    </FormModal>
  );
}
