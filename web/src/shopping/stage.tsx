import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { picture } from './address.js';
import { useMedia } from './hooks.js';
import { Icon } from './icons.js';
import type { Playback, PlaybackState } from './playback.js';
import { t } from './texts/index.js';

const surroundMs = 1000; // between two pictures of the blurred surroundings
const surroundWidth = 32;
const surroundHeight = 18;

/** The state of the video, for the parts over it. */
export interface Screen {
  state: PlaybackState;
  muted: boolean;
  toggleSound: () => void;
}

/** Makes the playback of a video element. The canvas lies over it, hidden, for pictures between two sources. */
export type Plays = (video: HTMLVideoElement, changed: (state: PlaybackState) => void, canvas: HTMLCanvasElement) => Playback;

/**
 * The video with its surroundings. Portrait video fills a phone's screen; all other video is shown whole, with a blurred copy around it.
 *
 * @param plays makes the playback; undefined while there is nothing to play.
 */
export function Stage({ name, poster, plays, children, onVideo }: {
  name: string; poster: string | null; plays: Plays | undefined;
  children: (screen: Screen) => ComponentChildren; onVideo?: (video: HTMLVideoElement) => void;
}): VNode {
  const video = useRef<HTMLVideoElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const desk = useMedia('(min-width: 900px)');
  const [state, setState] = useState<PlaybackState>('loading');
  const [muted, setMuted] = useState(false);
  const [shape, setShape] = useState<'portrait' | 'landscape'>('portrait');
  useEffect(() => {
    const element = video.current;
    if (!element || !canvas.current || !plays) return undefined;
    onVideo?.(element);
    const playback = plays(element, setState, canvas.current);
    Object.assign(globalThis, { showfloorPlayback: playback }); // for browser tests
    playback.start();

    return () => playback.stop();
  }, [plays]);
  const toggleSound = (): void => {
    const element = video.current;
    if (!element) return;
    element.muted = !element.muted;
    if (!element.muted) void element.play().catch(() => undefined);
  };
  const from = picture(poster);
  const started = state === 'playing' || state === 'ended' || (video.current?.readyState ?? 0) > 1;

  return (
    <div class="stage" data-shape={shape}>
      {from && !started ? <img class="poster-blur" src={from} alt="" referrerpolicy="no-referrer" /> : null}
      <Surroundings video={video} shown={started && (shape === 'landscape' || desk)} />
      {from && !started ? <img class="poster" src={from} alt="" referrerpolicy="no-referrer" /> : null}
      <video
        ref={video} playsInline aria-label={t.video(name)} hidden={!plays}
        onVolumeChange={({ currentTarget }) => setMuted(currentTarget.muted)}
        onResize={({ currentTarget: { videoWidth, videoHeight } }) => {
          if (videoWidth > 0) setShape(videoWidth > videoHeight ? 'landscape' : 'portrait');
        }}
        onLoadedMetadata={({ currentTarget: { videoWidth, videoHeight } }) => setShape(videoWidth > videoHeight ? 'landscape' : 'portrait')}
      />
      <canvas ref={canvas} class="held-picture" hidden aria-hidden="true" />
      {plays && (state === 'loading' || state === 'waiting') ? <span class="spinner" role="status" aria-label={t.loading} /> : null}
      {plays && muted && started ? (
        <button type="button" class="sound-on" onClick={toggleSound}><Icon name="mute" /> {t.soundOn}</button>
      ) : null}
      {children({ state, muted, toggleSound })}
    </div>
  );
}

/**
 * A small dark copy of the video, drawn and blurred once a second. A filter of the style sheet would be computed with each picture of the
 * video, which takes more than the video on devices without a graphics card.
 */
function Surroundings({ video, shown }: { video: { current: HTMLVideoElement | null }; shown: boolean }): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (!shown) return undefined;
    const draw = (): void => {
      const context = canvas.current?.getContext('2d');
      if (!context || !video.current || video.current.readyState <= 1 || document.visibilityState !== 'visible') return;
      context.filter = 'blur(1px)'; // not in older Safari, where the size alone blurs
      context.drawImage(video.current, -1, -1, surroundWidth + 2, surroundHeight + 2);
      context.filter = 'none';
      context.fillStyle = 'rgb(0 0 0 / 40%)';
      context.fillRect(0, 0, surroundWidth, surroundHeight);
    };
    draw();
    const timer = setInterval(draw, surroundMs);

    return () => clearInterval(timer);
  }, [shown]);

  return <canvas ref={canvas} class="surroundings" width={surroundWidth} height={surroundHeight} hidden={!shown} aria-hidden="true" />;
}
