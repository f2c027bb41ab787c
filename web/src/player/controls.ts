// The controls on the picture: elements of media-chrome, which get their state from a store. The store is media-chrome's,
// except where hls.js knows better than the video element: a broadcast's seek bar shows dates, and qualities are hls.js's.
import 'media-chrome/dist/media-controller.js';
import 'media-chrome/dist/media-control-bar.js';
import 'media-chrome/dist/media-loading-indicator.js';
import 'media-chrome/dist/media-play-button.js';
import 'media-chrome/dist/media-mute-button.js';
import 'media-chrome/dist/media-volume-range.js';
import 'media-chrome/dist/media-time-range.js';
import 'media-chrome/dist/media-captions-button.js';
import 'media-chrome/dist/media-pip-button.js';
import 'media-chrome/dist/media-airplay-button.js';
import 'media-chrome/dist/media-fullscreen-button.js';
import 'media-chrome/dist/menu/media-settings-menu.js';
import 'media-chrome/dist/menu/media-settings-menu-item.js';
import 'media-chrome/dist/menu/media-settings-menu-button.js';
import 'media-chrome/dist/menu/media-playback-rate-menu.js';
import 'media-chrome/dist/menu/media-rendition-menu.js';
import 'media-chrome/dist/menu/media-captions-menu.js';
import type MediaController from 'media-chrome/dist/media-controller.js';
import { StreamTypes } from 'media-chrome/dist/constants.js';
import { createMediaStore, type MediaStore } from 'media-chrome/dist/media-store/media-store.js';
import { stateMediator, type Rendition, type StateMediator } from 'media-chrome/dist/media-store/state-mediator.js';

import { dateAt } from './dates.js';
import type { Chapter } from './extras.js';
import type { Player } from './player.js';

/** The sources of the controls' state. */
interface Sources {
  video: HTMLVideoElement;
  player: Player;
  /** Returns the chapters: the same array until they change. */
  chapters: () => Chapter[];
  /** Calls its argument whenever one of the others may have changed, until the returned function is called. */
  updates: (update: () => void) => () => void;
}

/** Connects the controls with the player. */
export function connect(controller: MediaController, { video, player, chapters, updates }: Sources): MediaStore {
  // The type says that a handler gets the new value. It gets an event, or nothing, and asks `get`.
  const stateOwnersUpdateHandlers = [(handler: unknown) => updates(handler as () => void)];
  const changing = <Of extends object>(state: Of) => ({ ...state, stateOwnersUpdateHandlers });
  const seconds = (date: number) => (date - (player.range?.start ?? 0)) / 1000;

  const mediator: StateMediator = {
    ...stateMediator,
    mediaCurrentTime: changing({
      ...stateMediator.mediaCurrentTime,
      get: () => (player.range ? seconds(player.range.position) : video.currentTime),
      set: (value: number) => {
        if (player.range) player.seekTo(player.range.start + value * 1000);
        else video.currentTime = value;
      },
    }),
    mediaDuration: changing({
      ...stateMediator.mediaDuration,
      get: (owners) => (player.range ? seconds(player.range.end) : player.live ? NaN : stateMediator.mediaDuration.get(owners)),
    }),
    mediaSeekable: changing({
      ...stateMediator.mediaSeekable,
      get: (owners) => (player.range ? [0, seconds(player.range.end)] : player.live ? undefined : stateMediator.mediaSeekable.get(owners)),
    }),
    mediaBuffered: changing({
      ...stateMediator.mediaBuffered,
      get: (owners) => {
        const buffered = stateMediator.mediaBuffered.get(owners);
        const details = player.hls?.latestLevelDetails;
        if (!player.range || !details) return buffered;

        return buffered.map(([start, end]) => [seconds(dateAt(details, start) ?? 0), seconds(dateAt(details, end) ?? 0)]);
      },
    }),
    mediaStreamType: changing({
      ...stateMediator.mediaStreamType,
      get: () => (player.live ? StreamTypes.LIVE : StreamTypes.ON_DEMAND),
    }),
    mediaChaptersCues: changing({ ...stateMediator.mediaChaptersCues, get: chapters }),
    mediaRenditionList: changing({ ...stateMediator.mediaRenditionList, get: () => qualities(player) }),
    mediaRenditionUnavailable: changing({
      ...stateMediator.mediaRenditionUnavailable,
      get: () => (qualities(player).length > 1 ? undefined : 'unavailable' as const),
    }),
    mediaRenditionSelected: changing({
      ...stateMediator.mediaRenditionSelected,
      get: () => (player.hls && !player.hls.autoLevelEnabled ? String(player.hls.manualLevel) : ''),
      set: (value: string) => {
        if (!player.hls) return;
        if (value === 'auto') player.hls.nextLevel = -1;
        else player.hls.currentLevel = Number(value); // at once: nextLevel plays what is buffered first
      },
    }),
  };
  const store = createMediaStore({
    media: video,
    fullscreenElement: controller,
    documentElement: document,
    stateMediator: mediator,
    // The page itself decides about the live edge. A viewer who muted one stream wants to hear the next one.
    options: { noAutoSeekToLive: true, noMutedPref: true },
  });
  controller.mediaStore = store;

  return store;
}

// qualities returns the renditions among which the viewer can choose.
let lastQualities: Rendition[] = [];
function qualities({ hls }: Player): Rendition[] {
  const list = (hls?.levels ?? [])
    .map(({ width, height, bitrate }, id) => ({ id: String(id), width, height, bitrate }))
    .filter(({ height }) => height > 0);
  // The store compares states by identity.
  if (JSON.stringify(list) !== JSON.stringify(lastQualities)) lastQualities = list;

  return lastQualities;
}
