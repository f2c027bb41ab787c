import { Anchor, Group, Stack, Text } from '@mantine/core';

import type { SessionRecordingTrack } from '../../gen/api.js';
import { clockText } from '../lib/clock.js';
import { bytes, safeLink, time } from '../lib/format.js';
import { Section } from '../lib/parts.js';
import { CopyText } from '../lib/problem.js';
import { useRecordings } from '../messages/recordings.js';
import type { Playback } from './recording-playback.js';

// A link that saves a file. Files of another server are opened in a new tab instead.
export function SaveLink({ url, name, text, label }: { url: string; name: string; text: string; label?: string }) {
  const href = safeLink(url);
  if (!href) return null;
  return (
    <Anchor href={href} download={name} target="_blank" rel="noreferrer" size="sm" underline="always" aria-label={label}>{text}</Anchor>
  );
}

// A part of a file's name that every system takes.
const fileName = (name: string) => name.replace(/[^\p{L}\p{N} _-]+/gu, '').trim().slice(0, 80) || 'recording';

export function RecordingFiles({ name, playback }: { name: string; playback: Playback }) {
  const t = useRecordings();
  const { url, expiresAt, mp4Url, posterUrl, tracks } = playback;
  const base = fileName(name);
  return (
    <Section title={t('files')}>
      <Stack gap="sm">
        {mp4Url ? <SaveLink url={mp4Url} name={`${base}.mp4`} text={t('saveMp4')} /> : <Text size="sm" c="dimmed">{t('noMp4')}</Text>}
        {posterUrl ? <SaveLink url={posterUrl} name={`${base}.jpg`} text={t('savePoster')} />
          : <Text size="sm" c="dimmed">{t('noPoster')}</Text>}
        <Stack gap={4}>
          <Group><CopyText text={url} label={t('copyUrl')} /></Group>
          <Text size="xs" c="dimmed">{t('urlText', { time: time(expiresAt) })}</Text>
        </Stack>
        {!!tracks?.length && <Tracks of={tracks} />}
      </Stack>
    </Section>
  );
}

function Tracks({ of }: { of: SessionRecordingTrack[] }) {
  const t = useRecordings();
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600}>{t('tracks')}</Text>
      {of.map((track) => {
        const person = track.name ?? t('unknownPerson');
        return (
          <Group key={track.url} gap="xs" justify="space-between" wrap="nowrap">
            <div className="prose">
              <Text size="sm">{person}</Text>
              <Text size="xs" c="dimmed">
                {t('trackAt', { at: clockText(Math.round(track.startSec)), length: clockText(Math.round(track.durationSec)) })}
                {' · '}{bytes(track.sizeBytes)}
              </Text>
            </div>
            <SaveLink url={track.url} name={`${fileName(person)}.m4a`} text={t('saveTrack')} label={`${t('saveTrack')}: ${person}`} />
          </Group>
        );
      })}
    </Stack>
  );
}
