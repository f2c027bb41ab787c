// Plays the HLS stream named by ?src= or #src and shows how live it is.
// Addresses on this server and https addresses are accepted.
import Hls from './hls.mjs';
import { explain, sayings } from './messages.js';
import { Figures } from './figures.js';

const retryMs = 3000; // between attempts while a stream hasn't started yet, or its server is unreachable
const maxResumes = 10; // in a row; then the address is opened again

const byId = (id) => document.getElementById(id);
const video = byId('video');
const notice = byId('notice');
const again = byId('again');
const edge = byId('edge');
const figures = new Figures(video, byId);

let hls = null;
let retry = 0;
let source = '';
let resumes = 0;
let recovered = false; // the first media error is repaired silently, the second one is shown

// Gives browser tests access to the engine and the element.
globalThis.showfloorPlayer = { hls: null, video };

function say({ text, bad = false, canRetry = true }) {
  byId('message').textContent = text;
  notice.classList.toggle('bad', bad);
  notice.hidden = false;
  again.hidden = !canRetry;
}

// A developer's machine has two names. A stream of one plays on a page of the other.
const ownNames = ['localhost', '127.0.0.1'];

// playable returns the address to load, or an empty text if it isn't allowed.
function playable(text) {
  try {
    const url = new URL(text, location.href);
    if (ownNames.includes(url.hostname) && ownNames.includes(location.hostname)) url.hostname = location.hostname;
    return url.origin === location.origin || url.protocol === 'https:' ? url.href : '';
  } catch {
    return '';
  }
}

// requested returns the playback URL from the page's address. Anyone with a playback URL can watch, so
// it is moved from the address to the state of the history entry, where a reload finds it.
function requested() {
  const text = named();
  if (text) remember(text);
  return history.state?.src ?? '';
}

function remember(text) {
  history.replaceState({ src: text }, '', location.pathname);
}

function named() {
  const query = new URLSearchParams(location.search).get('src');
  const hash = location.hash.slice(1).replace(/^src=/, '');
  if (query) return query;
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash; // a bare percent sign: use the text as it is
  }
}

function stop() {
  clearTimeout(retry);
  hls?.destroy();
  hls = null;
  globalThis.showfloorPlayer.hls = null;
  edge.disabled = true;
  figures.reset(null);
}

function start(url = playable(source)) {
  stop();
  recovered = false;
  resumes = 0;
  notice.hidden = true;
  if (!source) return say(sayings.nothing);
  if (!url) return say(sayings.badAddress);
  if (Hls.isSupported()) return startEngine(url);
  if (video.canPlayType('application/vnd.apple.mpegurl')) return startNative(url);
  return say(sayings.oldBrowser);
}

function startEngine(url) {
  // The stream's PART-HOLD-BACK sets how far behind the live edge to play. The setting
  // liveSyncDurationCount would overrule it, and the constructor accepts a maximum only
  // together with that setting. So the maximum is set afterwards.
  hls = new Hls({
    lowLatencyMode: true,
    workerPath: '/assets/hls.worker.js',
    backBufferLength: 30,
    maxLiveSyncPlaybackRate: 1.1, // after a stall the player catches up without a jump
  });
  hls.config.liveMaxLatencyDurationCount = 10; // farther behind, the player jumps
  globalThis.showfloorPlayer.hls = hls;
  figures.reset(hls);
  hls.on(Hls.Events.MANIFEST_PARSED, play);
  lastPlayableAt = performance.now();
  hls.on(Hls.Events.LEVEL_UPDATED, (_, { details }) => {
    playlistLoadedAt = performance.now();
    edge.disabled = !details.live;
    if (resumes) {
      resumes = 0;
      notice.hidden = true;
    }
    // Up to 2 × target latency + target duration behind, hls.js catches up by playing
    // faster. Farther behind a jump is needed, but by itself hls.js jumps only at a much
    // greater distance: a viewer in between would stay late forever.
    if (details.partHoldBack) {
      hls.config.liveMaxLatencyDuration = video.paused ? Infinity : 2 * hls.targetLatency + details.targetduration;
    }
  });
  hls.on(Hls.Events.ERROR, (_, data) => data.fatal && failed(data));
  hls.loadSource(url);
  hls.attachMedia(video);
}

// hls.js misses the end if the playlist is closed while the last segment still loads:
// then the picture would stop and wait forever. So once the playlist is closed, a
// picture that doesn't move for playlistFreshMs has reached the end.
const playlistFreshMs = 2000;
// hls.js sometimes loads no more media although it loads the playlist, for example after a
// restart of the server. It still moves the position to the live edge. So if there is nothing
// to play for restartAfterMs although the playlist goes on, the page starts again.
const restartAfterMs = 10_000;
let stoodAt = 0; // the last position, and the time since which it hasn't changed
let stoodSince = performance.now();
let lastPlayableAt = 0; // when the element last had media to play
let playlistLoadedAt = 0; // when the last playlist was loaded
setInterval(() => {
  const now = performance.now();
  if (video.currentTime !== stoodAt) {
    stoodAt = video.currentTime;
    stoodSince = now;
  }
  const waits = !video.paused && video.readyState < HTMLMediaElement.HAVE_FUTURE_DATA;
  if (!waits) lastPlayableAt = now;
  const details = hls?.latestLevelDetails;
  if (!details || stoodAt === 0 || video.paused || video.ended) return;
  if (details.live) {
    if (now - lastPlayableAt > restartAfterMs && now - playlistLoadedAt < playlistFreshMs) start(continued(playable(source)));
    return;
  }
  if (now - stoodSince > playlistFreshMs && !video.seeking) ended();
}, playlistFreshMs / 4);

// ended handles the end of a playlist. Either the broadcast has ended, or it continues with
// other tracks in another playlist, to which the address then leads.
async function ended() {
  const played = source;
  const url = continued(playable(played));
  video.pause();
  say(sayings.ended);
  if ((await isLive(url)) && source === played) start(url);
}

// continued returns the address with the viewer's session. With it the address works to the
// end of the broadcast, and not only until it expires.
function continued(url) {
  const uri = hls?.levels?.[0]?.uri;
  const viewer = uri && new URL(uri, url).searchParams.get('viewer');
  if (!viewer) return url;
  const address = new URL(url);
  address.searchParams.set('viewer', viewer);
  return address.href;
}

// isLive reports whether an address leads to a playlist that isn't closed.
async function isLive(url) {
  try {
    const [index, address] = await load(url);
    const variant = index.split('\n').find((line) => line && !line.startsWith('#'));
    const [media] = await load(new URL(variant, address));
    return media.startsWith('#EXTM3U') && !media.includes('#EXT-X-ENDLIST');
  } catch {
    return false;
  }
}

async function load(url) {
  const response = await fetch(url, { cache: 'no-store' });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return [await response.text(), response.url];
}

// Safari on iPhones plays HLS itself.
function startNative(url) {
  video.src = url;
  play();
}

async function play() {
  try {
    await video.play();
  } catch (error) {
    if (error.name === 'NotAllowedError') say(sayings.pressPlay);
  }
}

function failed(data) {
  if (data.type === Hls.ErrorTypes.MEDIA_ERROR && !recovered) {
    recovered = true;
    hls.recoverMediaError();
    return;
  }
  const told = explain(data);
  const status = data.response?.code ?? 0;
  const away = data.type === Hls.ErrorTypes.NETWORK_ERROR && (status === 0 || status >= 500);
  if (away && hls.levels.length && resumes < maxResumes) {
    // Perhaps the server is restarting. The buffered media plays on in the meantime.
    resumes++;
    say(told);
    retry = setTimeout(() => hls.startLoad(), retryMs);
    return;
  }
  const url = continued(playable(source));
  stop();
  say(told);
  if (told.waits) retry = setTimeout(start, retryMs, url);
}

video.addEventListener('playing', () => {
  notice.hidden = true;
});
video.addEventListener('ended', ended);
video.addEventListener('error', () => {
  if (!hls && video.src) say(sayings.broken);
});

edge.addEventListener('click', () => {
  if (hls?.liveSyncPosition) video.currentTime = hls.liveSyncPosition;
  play();
});
again.addEventListener('click', () => start());

byId('open').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = byId('src').value.trim();
  remember(text);
  open(text);
});
addEventListener('hashchange', () => open(requested()));

function open(text) {
  source = text;
  byId('src').value = text;
  start();
}

open(requested());
