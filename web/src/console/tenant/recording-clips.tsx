import { Loader, Text } from '@mantine/core';

import type { Recording } from '../../gen/api.js';
import { clockText } from '../lib/clock.js';
import { client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { duration, time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Empty, Section, Status } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { useRecordings } from '../messages/recordings.js';
import { useStates } from '../messages/states.js';
import { useMay } from './identity.js';
import { ClipForm, type ClipRange } from './recording-clip-form.js';

interface Props { recording: Recording; range: ClipRange; change: (range: Partial<ClipRange>) => void; position: () => number | null }

export function RecordingClips({ recording, range, change, position }: Props) {
  const t = useRecordings();
  const may = useMay();
  const { streamId } = recording;
  const makes = recording.status === 'READY' && may('recordings:write');
  return (
    <Section title={t('clips')}>
      {streamId === null ? <Text size="sm" c="dimmed">{t('noClipsOfSessions')}</Text> : (
        <>
          <Text size="sm" c="dimmed" mb="xs">{t('clipsText')}</Text>
          {makes && <ClipForm recording={recording} range={range} change={change} position={position} />}
          <ClipList recording={recording} streamID={streamId} makes={makes} />
        </>
      )}
    </Section>
  );
}

// A clip is a recording of the same stream, and newer than its source. So all clips are known as soon as the list has reached the source.
function ClipList({ recording, streamID, makes }: { recording: Recording; streamID: string; makes: boolean }) {
  const t = useRecordings();
  const common = useCommon();
  const states = useStates();
  const list = useCursorList<Recording>(['recordings', streamID], (query, signal) => (
    client.GET('/v1/me/streams/{id}/recordings', { params: { path: { id: streamID }, query }, signal })
  ), 10_000);
  const isClip = ({ clipOf }: Recording) => clipOf?.recordingId === recording.id;
  const clips = list.rows?.filter(isClip);
  const complete = list.rows?.some(({ createdAt }) => createdAt <= recording.createdAt) ?? true;
  const rest = async () => {
    const { rows, complete: all } = await list.rest();
    return { rows: rows.filter(isClip), complete: all };
  };
  return (
    <DataList<Recording> name="clips" label={t('clips')} rows={clips} rest={rest} error={list.error}
      retry={() => void list.refetch()} fetching={list.isFetching} link={({ id }) => `/recordings/${id}`}
      empty={<Empty text={t(makes ? 'noClips' : 'noneClipped')} />} more={!complete && <MoreButton list={list} />}
      columns={[
        { key: 'name', title: common('name'), value: ({ name, createdAt }) => name ?? t('unnamed', { time: time(createdAt) }) },
        { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => (status === 'PROCESSING'
          ? <Text size="sm" role="status"><Loader size={12} mr={6} aria-hidden />{t('copying')}</Text>
          : <Status of={status} label={states(status)} />) },
        { key: 'part', title: t('part'), value: ({ clipOf }) => clipOf?.fromSec,
          render: ({ clipOf }) => (clipOf ? `${clockText(clipOf.fromSec)}–${clockText(clipOf.toSec)}` : '–') },
        { key: 'length', title: t('length'), value: ({ durationSec }) => durationSec, wide: true,
          render: ({ durationSec }) => duration(durationSec) },
        { key: 'error', title: common('reason'), value: ({ error, incompleteReason }) => error ?? incompleteReason, wide: true },
        { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, wide: true,
          render: ({ createdAt }) => time(createdAt) },
      ]} />
  );
}
