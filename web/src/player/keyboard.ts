// The keys of the player page. They work wherever the focus is, except where the same key has a meaning of its own: in
// text fields and menus, and on buttons.
import type { MediaStore } from 'media-chrome/dist/media-store/media-store.js';

import type { Player } from './player.js';

const arrowSeconds = 5;
const jumpSeconds = 10;
const volumeStep = 0.1;
const speeds = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];

/** Starts to listen. `help` shows the list of keys. */
export function listen(video: HTMLVideoElement, player: Player, store: MediaStore, help: () => void): void {
  const request = (type: string, detail?: unknown) => store.dispatch({ type, detail } as Parameters<MediaStore['dispatch']>[0]);
  const toggle = (on: boolean | undefined, enter: string, leave: string) => request(on ? leave : enter);
  const volume = (by: number) => request('mediavolumerequest', Math.min(Math.max(video.volume + by, 0), 1));
  const speed = (by: number) => {
    if (!player.hasSpeeds) return;
    const next = speeds[speeds.indexOf(video.playbackRate) + by];
    if (next) video.playbackRate = next;
  };
  const actions: Record<string, () => void> = {
    ' ': () => (video.paused ? void player.play() : video.pause()),
    k: () => (video.paused ? void player.play() : video.pause()),
    ArrowLeft: () => player.seekBy(-arrowSeconds),
    ArrowRight: () => player.seekBy(arrowSeconds),
    j: () => player.seekBy(-jumpSeconds),
    l: () => player.seekBy(jumpSeconds),
    ArrowUp: () => volume(volumeStep),
    ArrowDown: () => volume(-volumeStep),
    m: () => toggle(store.getState().mediaVolumeLevel === 'off', 'mediamuterequest', 'mediaunmuterequest'),
    f: () => toggle(store.getState().mediaIsFullscreen, 'mediaenterfullscreenrequest', 'mediaexitfullscreenrequest'),
    c: () => request('mediatogglesubtitlesrequest'),
    Home: () => {
      if (player.range) player.seekTo(player.range.start);
      else if (!player.live) video.currentTime = 0;
    },
    End: () => (player.live ? player.goLive() : (video.currentTime = video.duration || 0)),
    '<': () => speed(-1),
    '>': () => speed(1),
    '?': help,
  };
  // The range inputs in media-chrome's elements would act on arrow keys first.
  addEventListener(
    'keydown',
    (event) => {
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey || hasOwnUse(event)) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    },
    true,
  );
}

// hasOwnUse reports whether the key does something at the place of the focus.
function hasOwnUse({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest('input, textarea, select')) return true;
  if (target.closest('[role=menu]:not([hidden])')) return key === ' ' || key.length > 1;
  if (target.localName === 'media-volume-range') return key.startsWith('Arrow') || key === 'Home' || key === 'End';

  return key === ' ' && target.matches('button, a, summary, [role=button], [role=switch]');
}
