import { Button, Group } from '@mantine/core';

import type { Recording } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { bytes, duration, time } from '../lib/format.js';
import { Empty, Heading, Status, useChange, useConfirm } from '../lib/parts.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useRecordings } from '../messages/recordings.js';
import { useStates } from '../messages/states.js';
import { useMay } from './identity.js';

export default function Recordings() {
  const t = useConsole();
  return <><Heading title={t('recordings')} /><RecordingList /></>;
}

// The recordings of the tenant, or of one stream.
export function RecordingList({ streamID }: { streamID?: string }) {
  const t = useConsole();
  const common = useCommon();
  const texts = useRecordings();
  const states = useStates();
  const may = useMay();
  const confirm = useConfirm();
  const list = useCursorList<Recording>(['recordings', streamID], (query, signal) => (streamID
    ? client.GET('/v1/me/streams/{id}/recordings', { params: { path: { id: streamID }, query }, signal })
    : client.GET('/v1/me/recordings', { params: { query }, signal })), 15_000);
  const remove = useChange((id: string) => unwrap(client.DELETE('/v1/me/recordings/{id}', { params: { path: { id } } })), { done: common('done') });
  const watch = useChange((id: string) => unwrap(client.GET('/v1/me/recordings/{id}/playback-url', { params: { path: { id } } })), {
    after: ({ url }) => { window.open(`/player?src=${encodeURIComponent(url)}`, '_blank', 'noopener'); },
  });
  return (
    <CursorList name="recordings" label={t('recordings')} list={list}
      link={({ id }) => `/recordings/${id}`} empty={<Empty text={t('noRecordings')} />}
      columns={[
        { key: 'name', title: common('name'), value: ({ name, startedAt }) => name ?? texts('unnamed', { time: time(startedAt) }) },
        { key: 'started', title: t('started'), value: ({ startedAt }) => startedAt, render: ({ startedAt }) => time(startedAt), wide: true },
        { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Status of={status} label={states(status)} /> },
        { key: 'length', title: t('length'), value: ({ durationSec }) => durationSec, render: ({ durationSec }) => duration(durationSec) },
        { key: 'size', title: t('size'), value: ({ sizeBytes }) => sizeBytes, render: ({ sizeBytes }) => bytes(sizeBytes), wide: true },
        { key: 'error', title: t('error'), value: ({ error, incompleteReason }) => error ?? incompleteReason, wide: true },
      ]}
      actions={({ id, status }) => (
        <Group gap={4} justify="end" wrap="nowrap">
          {status === 'READY' && <Button size="compact-xs" variant="default" onClick={() => watch.mutate(id)}>{t('watch')}</Button>}
          {(status === 'READY' || status === 'FAILED') && may('recordings:write') && (
            <Button size="compact-xs" variant="default" onClick={() => confirm(t('remove'), texts('removeText'), () => remove.mutate(id))}>{t('remove')}</Button>
          )}
        </Group>
      )} />
  );
}
