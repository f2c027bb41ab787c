import { Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';

import type { Recording } from '../../gen/api.js';
import { newActionKey } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { clockText, parseClock } from '../lib/clock.js';
import { notify, useChange } from '../lib/parts.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useRecordings } from '../messages/recordings.js';

// The ends of a clip as they are typed.
export interface ClipRange { from: string; to: string }

type End = keyof ClipRange;

const shortestS = 1;

interface Props { recording: Recording; range: ClipRange; change: (range: Partial<ClipRange>) => void; position: () => number | null }

export function ClipForm({ recording: { id, durationSec }, range, change, position }: Props) {
  const t = useRecordings();
  const common = useCommon();
  const [name, setName] = useState('');
  const [checked, setChecked] = useState(false);
  // A repeated request of one clip makes one clip.
  const [actionKey, setActionKey] = useState(newActionKey);
  useEffect(() => setActionKey(newActionKey()), [range.from, range.to, name]);
  const [from, to] = [parseClock(range.from), parseClock(range.to)];
  const make = useChange((part: { fromSec: number; toSec: number }) => unwrap(client.POST('/v1/me/recordings/{id}/clips', {
    params: { path: { id }, header: { 'Idempotency-Key': actionKey } }, body: { ...part, ...(name.trim() && { name: name.trim() }) },
  })), {
    shows: true, done: t('clipMade'), touches: [['recordings']],
    after: () => { setName(''); setChecked(false); change({ from: '', to: '' }); },
  });
  const wrong: Partial<Record<End, string>> = {
    ...(from === null && { from: t('badClock') }), ...(to === null && { to: t('badClock') }),
    ...(from !== null && to !== null && to - from < shortestS && { from: t('tooShort') }),
    ...(to !== null && durationSec !== null && to > durationSec && { to: t('beyondEnd', { end: clockText(durationSec) }) }),
  };
  const set = (next: Partial<ClipRange>) => { change(next); make.reset(); };
  const submit = () => {
    setChecked(true);
    if (from !== null && to !== null && Object.keys(wrong).length === 0) make.mutate({ fromSec: from, toSec: to });
  };
  const faults = fieldErrors(make.error);
  const faultOf = (end: End) => (checked && wrong[end]) || faults[`${end}Sec`];
  const take = (end: End) => {
    const at = position();
    if (at === null) notify(t('playerClosed'), common('close'));
    else set({ [end]: clockText(at) });
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); submit(); }} noValidate>
      <Stack gap="xs" mb="md">
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
          {(['from', 'to'] as const).map((end) => (
            <Stack key={end} gap={4}>
              <TextInput label={t(end)} name={end} placeholder={t('clockHint')} autoComplete="off" value={range[end]} error={faultOf(end)} disabled={make.isPending}
                onChange={(event) => set({ [end]: event.currentTarget.value })} />
              <Group>
                <Button size="compact-xs" variant="default" aria-label={t('fromPlayerFor', { field: t(end) })} disabled={make.isPending}
                  onClick={() => take(end)}>{t('fromPlayer')}</Button>
              </Group>
            </Stack>
          ))}
          <TextInput label={t('clipName')} name="clipName" maxLength={200} value={name} error={faults.name} disabled={make.isPending}
            onChange={(event) => setName(event.currentTarget.value)} />
        </SimpleGrid>
        <ProblemNote error={make.error} />
        <Group gap="sm">
          <Button type="submit" size="xs" loading={make.isPending} data-testid="make-clip">{t('makeClip')}</Button>
          {from !== null && to !== null && to - from >= shortestS && (
            <Text size="sm" c="dimmed">{t('clipLength', { length: clockText(to - from) })}</Text>
          )}
        </Group>
      </Stack>
    </form>
  );
}
