import { Button, Text, UnstyledButton } from '@mantine/core';
import { useEffect, useImperativeHandle, useRef, useState, type RefObject } from 'react';

import { safeLink } from '../lib/format.js';
import { Section, Waiting } from '../lib/parts.js';
import { useRecordings } from '../messages/recordings.js';
import { renewAfterMs, type usePlayback } from './recording-playback.js';

export interface PlayerHandle {
  // Plays from a time in seconds, and loads the player first if it isn't shown.
  seek: (seconds: number) => void;
  // The time in seconds that the player shows; null if it isn't loaded.
  position: () => number | null;
}

interface Opened { url: string; at: number; loadedAt: number; count: number }

const hasMetadata = 1; // HTMLMediaElement.HAVE_METADATA

// The player's page is one of this server, so its video can be read and moved.
const videoOf = (frame: HTMLIFrameElement | null) => frame?.contentDocument?.querySelector('video') ?? null;

function moveTo(video: HTMLVideoElement, seconds: number) {
  const move = () => { video.currentTime = seconds; };
  if (video.readyState >= hasMetadata) move();
  else video.addEventListener('loadedmetadata', move, { once: true });
}

interface Props { name: string; playback: ReturnType<typeof usePlayback>; player: RefObject<PlayerHandle | null> }

// The poster, and after a press the player: watching counts as data sent, so nothing plays by itself.
export function RecordingPlayer({ name, playback, player }: Props) {
  const t = useRecordings();
  const frame = useRef<HTMLIFrameElement>(null);
  const [opened, setOpened] = useState<Opened | null>(null);
  const resumeAt = useRef(0);
  const { data } = playback;
  const open = (at: number) => {
    if (data) setOpened((was) => ({ url: data.url, at, loadedAt: data.loadedAt, count: (was?.count ?? 0) + 1 }));
  };
  useImperativeHandle(player, () => ({
    seek: (seconds) => {
      const video = videoOf(frame.current);
      if (!video) open(seconds);
      else {
        moveTo(video, seconds);
        video.play().catch(() => undefined); // the browser may forbid it until the user presses in the frame
      }
    },
    position: () => videoOf(frame.current)?.currentTime ?? null,
  }));
  // A player that is paused with an expired URL can load no more of it: the poster comes back, and a press goes on from the same time.
  useEffect(() => {
    if (!data || !opened || data.loadedAt - opened.loadedAt < renewAfterMs) return;
    const video = videoOf(frame.current);
    if (video && !video.paused) return;
    resumeAt.current = video?.currentTime ?? 0;
    setOpened(null);
  }, [data, opened]);
  const again = opened && (
    <Button size="compact-xs" variant="default" onClick={() => open(videoOf(frame.current)?.currentTime ?? 0)}>{t('playAgain')}</Button>
  );
  return (
    <Section title={t('player')} aside={again}>
      {!data ? <Waiting query={playback} height={240} /> : opened ? (
        <iframe key={opened.count} ref={frame} className="preview" title={t('player')} allow="autoplay; fullscreen"
          src={`/player?src=${encodeURIComponent(opened.url)}`}
          onLoad={() => {
            const video = videoOf(frame.current);
            if (video && opened.at > 0) moveTo(video, opened.at);
          }} />
      ) : <Cover name={name} poster={data.posterUrl} play={() => { open(resumeAt.current); resumeAt.current = 0; }} />}
    </Section>
  );
}

function Cover({ name, poster, play }: { name: string; poster: string | null; play: () => void }) {
  const t = useRecordings();
  const [broken, setBroken] = useState('');
  const picture = safeLink(poster);
  return (
    <UnstyledButton className="cover" onClick={play} aria-label={`${t('play')}: ${name}`} data-testid="play">
      {picture && picture !== broken && <img src={picture} alt="" onError={() => setBroken(picture)} />}
      <Text span className="cover-label" size="sm" fw={600}><span aria-hidden="true">▶</span> {t('play')}</Text>
    </UnstyledButton>
  );
}
