import { Select, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Stream } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { MomentInput } from '../lib/moment.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useStreamTexts } from '../messages/stream.js';

// publicReplay as a choice. null makes those recordings public that have products in their timeline.
const replays = [
  { value: 'replayProducts', open: null }, { value: 'replayAll', open: true }, { value: 'replayNone', open: false },
] as const;
const replayOf = (open: boolean | null) => replays.find((choice) => choice.open === open)?.value ?? 'replayProducts';

// Sends only the fields that were changed: the other ones may have changed on the server meanwhile.
export function EditStream({ stream, close }: { stream: Stream; close: () => void }) {
  const t = useStreamTexts();
  const common = useCommon();
  const before = { name: stream.name, poster: stream.posterUrl ?? '', scheduled: stream.scheduledAt, open: stream.publicReplay };
  const [form, setForm] = useState(before);
  const set = (change: Partial<typeof form>) => setForm((was) => ({ ...was, ...change }));
  const save = useChange(() => unwrap(client.PATCH('/v1/me/streams/{id}', {
    params: { path: { id: stream.id } },
    body: {
      ...(form.name !== before.name && { name: form.name }), ...(form.poster !== before.poster && { posterUrl: form.poster || null }),
      ...(form.scheduled !== before.scheduled && { scheduledAt: form.scheduled }),
      ...(form.open !== before.open && { publicReplay: form.open }),
    },
  })), { shows: true, done: t('saved'), after: close });
  const faults = fieldErrors(save.error);
  return (
    <FormModal title={t('editTitle')} open close={close} submit={() => save.mutate(undefined)} busy={save.isPending} error={save.error} action={common('save')}>
      <TextInput label={t('name')} name="name" required maxLength={200} value={form.name} error={faults.name} data-autofocus onChange={(event) => set({ name: event.currentTarget.value })} />
      <TextInput label={t('poster')} name="poster" type="url" maxLength={2048} value={form.poster} error={faults.posterUrl} onChange={(event) => set({ poster: event.currentTarget.value })} />
      <MomentInput label={t('scheduled')} name="scheduled" value={form.scheduled} error={faults.scheduledAt} change={(scheduled) => set({ scheduled })} />
      <Select label={t('publicReplay')} value={replayOf(form.open)} allowDeselect={false} error={faults.publicReplay}
        data={replays.map(({ value }) => ({ value, label: t(value) }))}
        onChange={(next) => set({ open: replays.find(({ value }) => value === next)?.open ?? null })} />
      <Text size="xs" c="dimmed">{t('fixed')}</Text>
    </FormModal>
  );
}
