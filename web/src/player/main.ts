// The player page: plays the HLS stream named by ?src= or #src, which may be live, a DVR playlist or a recording. With
// &dvr= a live stream can be dragged back.
import type Hls from 'hls.js';
import type { ManifestLoadedData } from 'hls.js';
import type MediaController from 'media-chrome/dist/media-controller.js';

import { showBrand } from '../brand/page.js';
import { remember, requested, type Request } from './address.js';
import { connect } from './controls.js';
import { type Chapter, loadChapters, loadStoryboard, named, setStoryboard } from './extras.js';
import { Figures } from './figures.js';
import { listen } from './keyboard.js';
import type { Saying } from './messages.js';
import { Player } from './player.js';
import { clock } from './time.js';

function byId<Type extends HTMLElement = HTMLElement>(id: string): Type {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element #${id}`);

  return element as Type;
}

const video = byId<HTMLVideoElement>('video');
const controller = byId<MediaController>('screen');
const edge = byId<HTMLButtonElement>('edge');
const unmute = byId('unmute');
const notice = byId('notice');
const updates = new Set<() => void>();
let chapters: Chapter[] = [];

/** Gives browser tests access to the engine and the element. */
const forTests: { hls: Hls | null; video: HTMLVideoElement } = { hls: null, video };
Object.assign(globalThis, { showfloorPlayer: forTests });

const player = new Player(video, {
  say,
  hush: () => (notice.hidden = true),
  engine: (hls) => {
    forTests.hls = hls;
    figures.reset(hls);
    showChapters([]);
    setStoryboard(video, []);
    // Without an engine the seek bar would be hidden for a moment, which ends a drag that leads to another playlist.
    if (hls) update();
  },
  opened: (data) => void showExtras(data),
  muted: () => (unmute.hidden = false),
  changed: update,
});
const figures = new Figures(
  video,
  { latency: byId('latency'), buffer: byId('buffer'), resolution: byId('resolution'), bitrate: byId('bitrate'), dropped: byId('dropped') },
  () => player.behind,
);
const store = connect(controller, { video, player, chapters: () => chapters, updates: subscribe });
// media-chrome gives a button aria-checked, and menus a child that is none of their entries: screen readers know neither.
byId('captions-button').setAttribute('role', 'switch');
for (const menu of document.querySelectorAll('[role=menu]')) menu.shadowRoot?.querySelector('[part~=back]')?.setAttribute('role', 'menuitem');
listen(video, player, store, () => {
  const keys = byId<HTMLDetailsElement>('keys');
  keys.open = !keys.open;
  if (keys.open) keys.scrollIntoView({ block: 'nearest' });
});

function subscribe(update: () => void): () => void {
  updates.add(update);

  return () => updates.delete(update);
}

function say({ text, bad = false, canRetry = true }: Saying): void {
  byId('message').textContent = text;
  notice.classList.toggle('bad', bad);
  notice.hidden = false;
  byId('again').hidden = !canRetry;
}

// update shows what may have changed.
function update(): void {
  for (const one of updates) one();
  const { live, range, atEdge } = player;
  const { mediaSubtitlesList, mediaRenditionUnavailable } = store.getState();
  edge.disabled = !live;
  edge.hidden = !live;
  edge.classList.toggle('at', atEdge);
  byId('edge-text').textContent = atEdge ? 'Live' : 'Go to live';
  const total = video.duration;
  byId('seek').hidden = !range && (live || !Number.isFinite(total));
  byId('time').textContent = range
    ? atEdge ? '' : `−${clock((range.end - range.position) / 1000)}`
    : live || !Number.isFinite(total) ? '' : `${clock(video.currentTime)} / ${clock(total)}`;
  const items = { speed: player.hasSpeeds, quality: !mediaRenditionUnavailable, captions: !!mediaSubtitlesList?.length };
  for (const [id, shown] of Object.entries(items)) byId(id).hidden = !shown;
  byId('captions-button').hidden = !items.captions;
  byId('settings-button').hidden = !Object.values(items).includes(true);
}

async function showExtras(data: ManifestLoadedData): Promise<void> {
  const { hls } = player;
  const [storyboard, listed] = [named(data, 'com.showfloor.storyboard'), named(data, 'com.apple.hls.chapters')];
  const none = () => [];
  const cues = storyboard ? await loadStoryboard(storyboard).catch(none) : [];
  if (hls !== player.hls) return; // another address was opened in the meantime
  setStoryboard(video, cues);
  const list = listed ? await loadChapters(listed, () => video.duration || Number.MAX_SAFE_INTEGER).catch(none) : [];
  if (hls !== player.hls) return;
  showChapters(list);
  update();
}

function showChapters(list: Chapter[]): void {
  chapters = list;
  byId('chapters').hidden = !list.length;
  byId('chapter-list').replaceChildren(
    ...list.map(({ startTime, text }) => {
      const button = document.createElement('button');
      button.type = 'button';
      const time = document.createElement('time');
      time.textContent = clock(startTime);
      button.append(time, ` ${text}`);
      button.addEventListener('click', () => {
        video.currentTime = startTime;
        void player.play();
      });
      const item = document.createElement('li');
      item.append(button);

      return item;
    }),
  );
}

// The text below the picture on the seek bar: a time in a recording, the time behind the live edge in a broadcast.
controller.addEventListener('mediapreviewrequest', (event) => {
  const at = (event as CustomEvent<number | null>).detail;
  const { range } = player;
  if (at === null) return;
  byId('preview').textContent = range ? `−${clock((range.end - range.start) / 1000 - at)}` : clock(at);
});

edge.addEventListener('click', () => player.goLive());
byId('again').addEventListener('click', () => player.start());
unmute.addEventListener('click', () => {
  video.muted = false;
  unmute.hidden = true;
  void player.play();
});
video.addEventListener('volumechange', () => {
  if (!video.muted) unmute.hidden = true;
});

byId('open').addEventListener('submit', (event) => {
  event.preventDefault();
  const request = { src: byId<HTMLInputElement>('src').value.trim(), dvr: '' };
  remember(request);
  open(request);
});
addEventListener('hashchange', () => {
  const request = requested();
  if (initial.brand) location.reload(); // the other address has another brand, or none
  else open(request);
});

function open(request: Request): void {
  byId<HTMLInputElement>('src').value = request.src;
  player.open(request);
}

// A frame of this server's, such as in the console, has the picture alone.
document.documentElement.classList.toggle('framed', framedByOwnPage());

function framedByOwnPage(): boolean {
  try {
    return window.parent !== window && window.parent.location.origin === location.origin;
  } catch {
    return false; // a website of the tenant, which gets the brand and the chapters
  }
}

const initial = requested();
showBrand(initial.brand);
if (initial.title) document.title = initial.title;
byId('nav').hidden = initial.src !== ''; // only for developers, who open the page itself
byId('open').hidden = initial.brand !== undefined;
open(initial);
