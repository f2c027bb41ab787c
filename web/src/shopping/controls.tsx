import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import type { Replay } from '../gen/api.js';
import { position } from './dates.js';
import { t } from './texts/index.js';
import { IconButton } from './ui.js';

/** A recording's video as its controls see it. */
export interface Player {
  second: number;
  length: number;
  paused: boolean;
  muted: boolean;
  full: boolean;
  toggle: () => void;
  toggleSound: () => void;
  toggleFull: () => void;
  seek: (second: number) => void;
}

const events = ['timeupdate', 'seeking', 'play', 'pause', 'volumechange', 'durationchange', 'ended'];

/** Follows a video. Draws the component again with each change of its position. */
export function usePlayer(video: HTMLVideoElement | undefined, lengthSec: number, frame: { current: HTMLElement | null }): Player {
  const [, draw] = useState(0);
  useEffect(() => {
    const changed = (): void => draw((before) => before + 1);
    for (const name of events) video?.addEventListener(name, changed);
    document.addEventListener('fullscreenchange', changed);
    changed();

    return () => {
      for (const name of events) video?.removeEventListener(name, changed);
      document.removeEventListener('fullscreenchange', changed);
    };
  }, [video]);
  const length = video && Number.isFinite(video.duration) && video.duration > 0 ? video.duration : lengthSec;

  return {
    second: video?.currentTime ?? 0, length, paused: video?.paused ?? true, muted: video?.muted ?? false, full: document.fullscreenElement !== null,
    toggle: () => {
      if (video?.paused) void video.play().catch(() => undefined);
      else video?.pause();
    },
    toggleSound: () => {
      if (video) video.muted = !video.muted;
    },
    toggleFull: () => {
      if (document.fullscreenElement) void document.exitFullscreen().catch(() => undefined);
      else void frame.current?.requestFullscreen?.().catch(() => undefined);
    },
    seek: (second) => {
      if (video) video.currentTime = Math.max(0, Math.min(second, length - 0.1));
    },
  };
}

/** The controls below a recording. */
export function Controls({ player }: { player: Player }): VNode {
  const { second, length } = player;
  const now = `${position(second)} / ${position(length)}`;

  return (
    <div class="controls glass">
      <IconButton name={player.paused ? 'play' : 'pause'} label={player.paused ? t.play : t.pausePlayback} act={player.toggle} filled={player.paused} />
      <input
        class="seek" type="range" min={0} max={Math.max(1, Math.floor(length))} step={1} value={Math.floor(second)} aria-label={t.position} aria-valuetext={now}
        onInput={({ currentTarget }) => player.seek(Number(currentTarget.value))}
        ref={(element) => element?.style.setProperty('--done', `${length > 0 ? (100 * second) / length : 0}%`)}
      />
      <span class="position">{now}</span>
      <IconButton name={player.muted ? 'mute' : 'sound'} label={player.muted ? t.soundOn : t.soundOff} act={player.toggleSound} />
      {document.fullscreenEnabled ? <IconButton name={player.full ? 'unfull' : 'full'} label={player.full ? t.leaveFullscreen : t.fullscreen} act={player.toggleFull} /> : null}
    </div>
  );
}

/** The products of a recording as chapters, in the order of their seconds. */
export function Chapters({ replay, player }: { replay: Replay; player: Player }): VNode | null {
  const entries = replay.productTimeline.flatMap(({ ts, productId }) => {
    const product = replay.products.find(({ id }) => id === productId);

    return product ? [{ ts, product }] : [];
  });
  const current = entries.filter(({ ts }) => ts <= player.second + 0.05).at(-1);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const chosen = list.current?.querySelector<HTMLElement>('[aria-current]');
    if (list.current && chosen) list.current.scrollTo({ left: chosen.offsetLeft - list.current.offsetLeft - 40, behavior: 'smooth' });
  }, [current?.ts]);
  if (entries.length === 0) return null;

  return (
    <nav class="chapters" aria-label={t.chapters}>
      <ol ref={list} tabIndex={0}>
        {entries.map((entry) => (
          <li key={entry.ts}>
            <button type="button" class="chapter glass" aria-current={entry === current ? 'true' : undefined} onClick={() => player.seek(entry.ts)}>
              <span class="chapter-time">{position(entry.ts)}</span> <bdi>{entry.product.name}</bdi>
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
