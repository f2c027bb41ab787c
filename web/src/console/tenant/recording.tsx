import { Alert, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useRef, useState } from 'react';

import type { Recording } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { clockText } from '../lib/clock.js';
import { time } from '../lib/format.js';
import { Heading, Section, Status, Waiting } from '../lib/parts.js';
import { useRecordings } from '../messages/recordings.js';
import { useStates } from '../messages/states.js';
import { useMay } from './identity.js';
import { RecordingActions } from './recording-actions.js';
import type { ClipRange } from './recording-clip-form.js';
import { RecordingClips } from './recording-clips.js';
import { RecordingFacts, RecordingProducts } from './recording-facts.js';
import { RecordingFiles } from './recording-files.js';
import { RecordingPlayer, type PlayerHandle } from './recording-player.js';
import { usePlayback } from './recording-playback.js';
import { Storyboard } from './recording-storyboard.js';
import { RecordingTracks } from './recording-tracks.js';
import { RecordingTranscodes } from './recording-transcodes.js';

const unfinishedMs = 3000;
const finishedMs = 30_000;

export default function RecordingPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const query = api.useQuery('get', '/v1/me/recordings/{id}', { params: { path: { id } } }, {
    refetchInterval: ({ state: { data } }) => (data?.status === 'RECORDING' || data?.status === 'PROCESSING' ? unfinishedMs : finishedMs),
  });
  // A link from one recording to another keeps the route: nothing of the first one must stay.
  return query.data?.id === id ? <Shown key={id} recording={query.data} /> : <Waiting query={query} />;
}

function Shown({ recording }: { recording: Recording }) {
  const t = useRecordings();
  const states = useStates();
  const writes = useMay()('recordings:write');
  const { status, streamId } = recording;
  const ready = status === 'READY';
  const playable = status !== 'DELETED' && status !== 'FAILED'; // now, or soon
  const name = recording.name ?? t('unnamed', { time: time(recording.startedAt) });
  const playback = usePlayback(recording, ready);
  const player = useRef<PlayerHandle>(null);
  const [range, setRange] = useState<ClipRange>({ from: '', to: '' });
  const changeRange = (change: Partial<ClipRange>) => setRange((was) => ({ ...was, ...change }));
  const seek = (seconds: number) => player.current?.seek(seconds);
  const clips = ready && writes && streamId !== null;
  return (
    <Stack>
      <Heading title={name}>
        <Status of={status} label={states(status)} />
        <RecordingActions recording={recording} />
      </Heading>
      <Notes recording={recording} />
      <div className="beside">
        <Stack miw={0}>
          {ready ? <RecordingPlayer name={name} playback={playback} player={player} />
            : <Section title={t('player')}><Text size="sm" c="dimmed">{playerNote(t, status)}</Text></Section>}
          {playable && (
            <Storyboard url={playback.data?.storyboardUrl ?? null} ready={ready} seek={seek}
              mark={clips ? (end, seconds) => changeRange({ [end]: clockText(seconds) }) : undefined} />
          )}
          <RecordingProducts recording={recording} seek={seek} />
        </Stack>
        <Stack miw={0}>
          <RecordingFacts recording={recording} />
          {playback.data && ready && <RecordingFiles name={name} playback={playback.data} />}
        </Stack>
      </div>
      <RecordingClips recording={recording} range={range} change={changeRange} position={() => player.current?.position() ?? null} />
      {playable && <RecordingTracks recording={recording} />}
      {playable && <RecordingTranscodes recording={recording} />}
    </Stack>
  );
}

function playerNote(t: ReturnType<typeof useRecordings>, status: Recording['status']): string {
  if (status === 'RECORDING') return t('recordingNow');
  return t(status === 'PROCESSING' ? 'processing' : 'notPlayable');
}

// The state of the recording in words, with its reason, and the source of a clip.
function Notes({ recording: { status, error, incompleteReason, clipOf } }: { recording: Recording }) {
  const t = useRecordings();
  return (
    <>
      {status === 'FAILED' && (
        <Alert variant="outline" color="red" role="status" title={t('failed')}>
          <Text size="sm" className="prose">{[error, t('failedText')].filter(Boolean).join('. ')}</Text>
        </Alert>
      )}
      {status === 'DELETED' && <Alert variant="outline" color="gray" role="status" title={t('deleted')} />}
      {status === 'READY' && incompleteReason && (
        <Alert variant="outline" color="orange" role="status" title={t('incomplete')}>
          <Text size="sm" className="prose">{incompleteReason}</Text>
        </Alert>
      )}
      {clipOf && (
        <Text size="sm">
          {t('clipOf', { from: clockText(clipOf.fromSec), to: clockText(clipOf.toSec) })}{' '}
          <Link className="link" to={`/recordings/${clipOf.recordingId}`}>{t('source')}</Link>
        </Text>
      )}
    </>
  );
}
