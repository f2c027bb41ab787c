// Loads the playlists and keeps playing: through restarts of the server, stalls and the end of a playlist, and from the
// live playlist to the DVR playlist and back.
import Hls, { type ErrorData, type LevelDetails, type ManifestLoadedData } from 'hls.js';

import { playable, type Request } from './address.js';
import { dateAt, firstDate, timeAt } from './dates.js';
import { explain, sayings, type Saying } from './messages.js';

const retryMs = 3000; // between attempts while a stream hasn't started yet, or its server is unreachable
const maxResumes = 10; // in a row; then the address is opened again
const checkMs = 500; // between two looks at the position
// hls.js misses the end if the playlist is closed while the last segment still loads: then the picture would stop and wait
// forever. So once the playlist is closed, a picture that doesn't move for playlistFreshMs has reached the end.
const playlistFreshMs = 2000;
// hls.js sometimes loads no more media although it loads the playlist, for example after a restart of the server. It still
// moves the position to the live edge. So if there is nothing to play for restartAfterMs although the playlist goes on, the
// page starts again: after twice as long each time, because on a slow device or link a new start may need longer.
const restartAfterMs = 10_000;
const maxDoublings = 3; // of restartAfterMs
const longWindow = 60; // seconds: a live playlist that is as long has a seek bar
const lateSeconds = 3; // behind the wanted latency, the viewer isn't live any more
const nearEndMs = 3000; // a seek that is as near the end of the DVR playlist leads to the live one
const findDvrMs = 10_000; // between attempts to find the beginning of the DVR playlist

/** The part of a broadcast that can be watched, and the position in it: dates in milliseconds. */
export interface Range {
  start: number;
  end: number; // the live edge
  position: number;
}

/** The page around the player. */
export interface View {
  say(saying: Saying): void;
  hush(): void;
  /** The engine was replaced. */
  engine(hls: Hls | null): void;
  /** A playlist was opened; addresses in it are relative to data.url. */
  opened(data: ManifestLoadedData): void;
  /** The browser plays without sound until a click. */
  muted(): void;
  /** The range or whether the stream is live may have changed. */
  changed(): void;
}

export class Player {
  hls: Hls | null = null;
  /** The DVR playlist of a live stream is loaded rather than its live playlist. */
  onDvr = false;

  #request: Request = { src: '', dvr: '' };
  #liveUrl = ''; // the live playlist's address with the viewer's session, while the DVR playlist is loaded
  #retry: ReturnType<typeof setTimeout> | undefined;
  #resumes = 0;
  #recovered = false; // the first media error is repaired silently, the second one is shown
  #broadcast = false; // it is live, or was when it was opened
  #range: Range | undefined; // the last one that was known
  #target: number | undefined; // the date that is being sought
  #sought: number | undefined; // the last target that was sought a second time
  #pausedAt: number | undefined; // the date at which the viewer paused
  #ahead: number | undefined; // the date of the live edge, minus this device's clock; ms
  #dvrStart: number | undefined; // the date at which the DVR playlist begins
  #dvrSoughtAt = -Infinity;
  #stoodAt = 0; // the last position, and the time since which it hasn't changed
  #stoodSince = performance.now();
  #hasPlayed = false; // in this page; a repaired media element is at 0 again
  #restarts = 0; // since the element last had media to play
  #lastPlayableAt = 0; // when the element last had media to play
  #playlistLoadedAt = 0; // when the last playlist was loaded

  constructor(
    private readonly video: HTMLVideoElement,
    private readonly view: View,
  ) {
    setInterval(() => this.#check(), checkMs);
    video.addEventListener('playing', () => view.hush());
    for (const event of ['playing', 'seeked', 'loadeddata']) video.addEventListener(event, () => this.#arrive());
    video.addEventListener('pause', () => (this.#pausedAt = this.live && !this.onDvr ? this.range?.position : undefined));
    video.addEventListener('play', () => this.#resume());
    video.addEventListener('ended', () => void this.#ended());
    video.addEventListener('error', () => {
      if (!this.hls && video.src) view.say(sayings.broken);
    });
  }

  /** Whether the loaded playlist still grows. */
  get live(): boolean {
    if (!this.hls) return this.video.duration === Infinity; // the browser plays it

    return this.#details?.live ?? this.#target !== undefined;
  }

  /** Whether the viewer may choose the speed. Near the live edge hls.js sets it. */
  get hasSpeeds(): boolean {
    return !this.live || this.onDvr || (this.hls !== null && isLong(this.#details));
  }

  /** Seconds behind the live edge; undefined if nothing live is played. */
  get behind(): number | undefined {
    if (!this.live || !this.hls) return undefined;
    if (!this.onDvr) return this.hls.latency;
    const range = this.range;

    return range && (range.end - range.position) / 1000;
  }

  /** Whether the picture is as near the live edge as it should be. */
  get atEdge(): boolean {
    return !this.onDvr && !this.video.paused && (this.behind ?? 0) < (this.hls?.targetLatency ?? 0) + lateSeconds;
  }

  /** The range of a broadcast that has a seek bar: with a DVR playlist, or a long live playlist. */
  get range(): Range | undefined {
    const details = this.#details;
    if (this.#target !== undefined && this.#range) {
      return { ...this.#range, end: Math.max(this.#range.end, this.#target), position: this.#target };
    }
    if (!details?.live) return undefined;
    const apart = this.#request.dvr !== '' && !this.onDvr;
    if (!apart && !this.onDvr && !isLong(details)) return undefined;
    const position = dateAt(details, this.video.currentTime);
    const start = apart ? this.#dvrStart : dateAt(details, details.fragmentStart);
    if (position === undefined || start === undefined) return undefined;
    this.#range = { start, end: Math.max(this.#edge(details, position), position), position };

    return this.#range;
  }

  /** Opens an address. */
  open(request: Request): void {
    this.#request = request;
    this.#dvrStart = undefined;
    this.#dvrSoughtAt = -Infinity;
    this.#ahead = undefined;
    this.start();
  }

  /** Starts from the beginning: the live playlist, or the recording. */
  start(url = playable(this.#request.src)): void {
    this.#stop();
    this.#resumes = 0;
    this.view.hush();
    if (!this.#request.src) return this.view.say(sayings.nothing);
    if (!url) return this.view.say(sayings.badAddress);
    if (Hls.isSupported()) return this.#startEngine(url, true);
    if (this.video.canPlayType('application/vnd.apple.mpegurl')) return this.#startNative(url);

    return this.view.say(sayings.oldBrowser);
  }

  /** Shows the newest picture, from the live playlist. */
  goLive(): void {
    this.#pausedAt = undefined;
    if (this.onDvr) return this.start(this.#liveUrl);
    this.#target = undefined;
    const { hls, video } = this;
    const edge = hls ? hls.liveSyncPosition : video.seekable.length ? video.seekable.end(video.seekable.length - 1) : null;
    if (edge) video.currentTime = edge;
    void this.play();
  }

  /** Moves the position by seconds. */
  seekBy(seconds: number): void {
    const { range, video } = this;
    if (range) return this.seekTo(range.position + seconds * 1000);
    const details = this.#details;
    const [first, last] = details?.live ? [details.fragmentStart, this.hls?.liveSyncPosition ?? details.edge] : [0, video.duration || 0];
    video.currentTime = Math.max(Math.min(video.currentTime + seconds, last), first);
  }

  /** Shows a date of a broadcast with a seek bar, as near as it can. */
  seekTo(date: number): void {
    const { range, video, hls } = this;
    const details = this.#details;
    if (!range || !hls) return;
    const to = Math.min(Math.max(date, range.start), range.end);
    if (this.#request.dvr && !this.onDvr) {
      // The live playlist holds only the last seconds.
      return to >= range.position ? this.goLive() : this.#startDvr(to);
    }
    this.#target = to;
    if (!details) return; // the playlist is being loaded, and playback starts at the target
    const sync = this.onDvr ? details.edge - nearEndMs / 1000 : (hls.liveSyncPosition ?? details.edge);
    const time = timeAt(details, to);
    if (details.live && time > sync) return this.goLive();
    if (video.readyState > HTMLMediaElement.HAVE_NOTHING) video.currentTime = time;
    this.view.changed();
  }

  /** Plays; if the browser allows no sound before a click, without it. */
  async play(): Promise<void> {
    const { video } = this;
    try {
      await video.play();
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== 'NotAllowedError') return;
      if (video.muted) return this.view.say(sayings.pressPlay);
      video.muted = true;
      this.view.muted();
      await this.play();
    }
  }

  // #arrive ends a seek. While a playlist is opened, the viewer may have chosen another date than the one at which it starts.
  #arrive(): void {
    const { video } = this;
    const details = this.#details;
    const target = this.#target;
    if (target === undefined || !details || video.seeking) return;
    const time = timeAt(details, target);
    if (Math.abs(video.currentTime - time) > nearEndMs / 1000 && this.#sought !== target) {
      this.#sought = target; // once: in a gap the player goes elsewhere
      video.currentTime = time;
      return;
    }
    this.#target = undefined;
  }

  get #details(): LevelDetails | null {
    return this.hls?.latestLevelDetails ?? null;
  }

  // The DVR playlist ends some seconds before the live edge, so the live edge is counted on from what the live playlist had.
  #edge(details: LevelDetails, position: number): number {
    if (this.onDvr && this.#ahead !== undefined) return Date.now() + this.#ahead;
    const latency = this.hls?.latency ?? 0;
    const edge = latency > 0 ? position + latency * 1000 : (dateAt(details, details.edge) ?? position);
    if (!this.onDvr && !this.video.seeking) this.#ahead = edge - Date.now();

    return edge;
  }

  #stop(): void {
    clearTimeout(this.#retry);
    this.hls?.destroy();
    this.hls = null;
    this.onDvr = false;
    this.#recovered = false;
    this.#broadcast = false;
    this.#target = undefined;
    this.#pausedAt = undefined;
    this.view.engine(null);
  }

  /** Loads the DVR playlist and shows a date. */
  #startDvr(date: number): void {
    const url = playable(this.#request.dvr);
    if (!url) return;
    const plays = !this.video.paused;
    const live = this.onDvr ? this.#liveUrl : this.#continued(playable(this.#request.src));
    this.#stop();
    this.#liveUrl = live;
    this.onDvr = true;
    this.#target = date;
    this.#startEngine(url, plays);
  }

  #startEngine(url: string, plays: boolean): void {
    // The stream's PART-HOLD-BACK sets how far behind the live edge to play. The setting
    // liveSyncDurationCount would overrule it, and the constructor accepts a maximum only
    // together with that setting. So the maximum is set afterwards.
    const hls = new Hls({
      lowLatencyMode: true,
      workerPath: '/assets/hls.worker.js',
      backBufferLength: 30,
      // After a stall the player catches up without a jump. In the DVR playlist the viewer chooses the speed.
      maxLiveSyncPlaybackRate: this.onDvr ? 1 : 1.1,
    });
    this.hls = hls;
    if (!this.onDvr) hls.config.liveMaxLatencyDurationCount = 10; // farther behind, the player jumps
    this.view.engine(hls);
    hls.on(Hls.Events.MANIFEST_LOADED, (_, data) => this.view.opened(data));
    if (plays) hls.on(Hls.Events.MANIFEST_PARSED, () => void this.play());
    this.#lastPlayableAt = performance.now();
    hls.on(Hls.Events.LEVEL_UPDATED, (_, { details }) => this.#updated(details));
    hls.on(Hls.Events.ERROR, (_, data) => {
      if (data.fatal) this.#failed(data);
    });
    if (this.onDvr) {
      hls.once(Hls.Events.LEVEL_UPDATED, (_, { details }) => hls.startLoad(timeAt(details, this.#target ?? 0)));
    }
    hls.loadSource(url);
    hls.attachMedia(this.video);
  }

  #updated(details: LevelDetails): void {
    const { hls, video } = this;
    this.#playlistLoadedAt = performance.now();
    if (details.live || details.type !== 'VOD') this.#broadcast = true;
    if (this.#resumes) {
      this.#resumes = 0;
      this.view.hush();
    }
    // Up to 2 × target latency + target duration behind, hls.js catches up by playing
    // faster. Farther behind a jump is needed, but by itself hls.js jumps only at a much
    // greater distance: a viewer in between would stay late forever.
    if (hls && details.partHoldBack) {
      hls.config.liveMaxLatencyDuration = video.paused ? Infinity : this.#mostBehind(details);
    }
    if (hls && isLong(details)) hls.config.maxLiveSyncPlaybackRate = 1;
    if (details.live && this.#request.dvr && !this.onDvr) void this.#findDvr();
    this.view.changed();
  }

  #mostBehind(details: LevelDetails): number {
    return 2 * (this.hls?.targetLatency ?? 0) + details.targetduration;
  }

  // #findDvr looks for the beginning of the DVR playlist, which may begin later than the live one.
  async #findDvr(): Promise<void> {
    const url = playable(this.#request.dvr);
    const now = performance.now();
    if (!url || this.#dvrStart !== undefined || now - this.#dvrSoughtAt < findDvrMs) return;
    this.#dvrSoughtAt = now;
    const start = await firstDate(url).catch(() => undefined);
    if (playable(this.#request.dvr) !== url) return;
    this.#dvrStart = start;
    this.view.changed();
  }

  // #resume continues after a pause. The media that the viewer missed is in the DVR playlist only.
  #resume(): void {
    const details = this.#details;
    const at = this.#pausedAt;
    this.#pausedAt = undefined;
    if (at === undefined || !details?.live || this.onDvr || this.#dvrStart === undefined) return;
    if ((this.hls?.latency ?? 0) > this.#mostBehind(details)) this.#startDvr(at);
  }

  #check(): void {
    const { video } = this;
    const now = performance.now();
    if (video.currentTime !== this.#stoodAt) {
      this.#stoodAt = video.currentTime;
      this.#stoodSince = now;
      this.#hasPlayed ||= video.currentTime > 0;
    }
    const waits = !video.paused && video.readyState < HTMLMediaElement.HAVE_FUTURE_DATA;
    if (!waits) this.#lastPlayableAt = now;
    if (video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) this.#restarts = 0;
    this.view.changed();
    const details = this.#details;
    if (!details || video.paused || video.ended || !(details.live ? this.#hasPlayed : this.#stoodAt)) return;
    const stands = now - this.#stoodSince > playlistFreshMs && !video.seeking;
    const left = details.edge - video.currentTime;
    if (details.live) {
      const patience = restartAfterMs * 2 ** Math.min(this.#restarts, maxDoublings);
      if (now - this.#lastPlayableAt > patience && now - this.#playlistLoadedAt < playlistFreshMs) this.#restart();
      else if (this.onDvr && stands && left < nearEndMs / 1000) this.goLive(); // played faster than it is recorded
      return;
    }
    if (this.#broadcast && stands && (!this.onDvr || left < nearEndMs / 1000)) void this.#ended();
  }

  #restart(): void {
    this.#restarts++;
    const at = this.onDvr ? this.range?.position : undefined;
    if (at !== undefined) this.#startDvr(at);
    else this.start(this.onDvr ? this.#liveUrl : this.#continued(playable(this.#request.src)));
  }

  // #ended handles the end of a playlist. Either the broadcast has ended, or it continues with other tracks in another
  // playlist, to which the address then leads.
  async #ended(): Promise<void> {
    if (!this.#broadcast) return; // a recording
    const played = this.#request;
    const url = this.onDvr ? this.#liveUrl : this.#continued(playable(played.src));
    this.video.pause();
    this.view.say(sayings.ended);
    if ((await isLive(url)) && this.#request === played) this.start(url);
  }

  // #continued returns the address with the viewer's session. With it the address works to the end of the broadcast, and not
  // only until it expires.
  #continued(url: string): string {
    const uri = this.hls?.levels[0]?.uri;
    const viewer = uri && new URL(uri, url).searchParams.get('viewer');
    if (!viewer) return url;
    const address = new URL(url);
    address.searchParams.set('viewer', viewer);

    return address.href;
  }

  // Safari on iPhones plays HLS itself.
  #startNative(url: string): void {
    this.video.src = url;
    void this.play();
  }

  #failed(data: ErrorData): void {
    const { hls } = this;
    if (!hls) return;
    if (data.type === Hls.ErrorTypes.MEDIA_ERROR && !this.#recovered) {
      this.#recovered = true;
      hls.recoverMediaError();
      return;
    }
    const told = explain(data);
    const status = data.response?.code ?? 0;
    const away = data.type === Hls.ErrorTypes.NETWORK_ERROR && (status === 0 || status >= 500);
    if (away && hls.levels.length && this.#resumes < maxResumes) {
      // Perhaps the server is restarting. The buffered media plays on in the meantime.
      this.#resumes++;
      this.view.say(told);
      this.#retry = setTimeout(() => hls.startLoad(), retryMs);
      return;
    }
    if (this.onDvr) {
      // There is no DVR playlist any more. The live playlist says what is wrong, if anything is.
      this.#dvrStart = undefined;
      this.start(this.#liveUrl);
      return;
    }
    const url = this.#continued(playable(this.#request.src));
    this.#stop();
    this.view.say(told);
    if (told.waits) this.#retry = setTimeout(() => this.start(url), retryMs);
  }
}

// isLong reports whether a live playlist reaches so far back that it has a seek bar.
function isLong(details: LevelDetails | null): boolean {
  return details !== null && !details.partList && (details.type === 'EVENT' || details.totalduration >= longWindow);
}

// isLive reports whether an address leads to a playlist that isn't closed.
async function isLive(url: string): Promise<boolean> {
  try {
    const [index, address] = await load(url);
    const variant = index.split('\n').find((line) => line && !line.startsWith('#'));
    if (!variant) return false;
    const [media] = await load(new URL(variant, address).href);

    return media.startsWith('#EXTM3U') && !media.includes('#EXT-X-ENDLIST');
  } catch {
    return false;
  }
}

async function load(url: string): Promise<[text: string, address: string]> {
  const response = await fetch(url, { cache: 'no-store' });
  if (!response.ok) throw new Error(`status ${response.status}`);

  return [await response.text(), response.url];
}
