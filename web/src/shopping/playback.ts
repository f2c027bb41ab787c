import type Hls from 'hls.js';

import { Backoff } from '../rooms/backoff.js';
import { PlaybackAddress } from '../shop/index.js';
import { ownAddress } from './address.js';

const lookMs = 2000;
const mostBehindSec = 5; // behind the usual latency, before the player skips to the live edge

/** The state of playback. `waiting`: it continues by itself. `failed`: several attempts had no success; it is tried further. */
export type PlaybackState = 'loading' | 'playing' | 'waiting' | 'ended' | 'failed';

/**
 * A way to play a show's video in a video element: a replay by HLS, a live show by LL-HLS or by WebRTC from its room.
 */
export interface Playback {
  /** Starts to play, muted if the browser demands it. */
  start(): void;
  /** Stops and releases the video element. */
  stop(): void;
}

/** Plays the element's source, muted if the browser allows no sound before a click. */
export async function playOrMute(video: HTMLVideoElement): Promise<void> {
  await video.play().catch(async (error: unknown) => {
    if (!(error instanceof DOMException) || error.name !== 'NotAllowedError') return;
    video.muted = true;
    await video.play().catch(() => undefined);
  });
}

/** Where HLS playback gets its playlist and reports its state. */
export interface HlsOptions {
  /** Returns a playlist's URL that is valid now. It is called at the start and after failures. */
  source: () => Promise<string>;
  /** Whether the playlist is a live one. */
  live: boolean;
  /** The second at which a recording starts. */
  second?: number;
  /** Called before the video element loses its source and its picture, to start again after a failure. */
  restarts?: () => void;
  changed: (state: PlaybackState) => void;
}

/** Plays an HLS playlist by hls.js, or by the browser itself where hls.js can't work. It restarts after failures with a new URL. */
export class HlsPlayback implements Playback {
  #hls: Hls | undefined;
  #address: PlaybackAddress | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #recoveries = 0;
  #second: number;
  readonly #backoff = new Backoff(1000, 8000);
  readonly #ends: (() => void)[] = [];

  constructor(
    private readonly video: HTMLVideoElement,
    private readonly options: HlsOptions,
  ) {
    this.#second = options.second ?? 0;
    this.#on('playing', () => {
      this.#backoff.reset();
      this.#recoveries = 0;
      options.changed('playing');
    });
    this.#on('waiting', () => options.changed('waiting'));
    if (options.live) this.#followEdge();
    this.#on('ended', () => options.changed('ended'));
    this.#on('error', () => {
      if (!this.#hls) this.#again(); // the browser's own player
    });
  }

  /** Seconds behind the encoder; 0 if that isn't known. */
  get latency(): number {
    return this.#hls?.latency ?? 0;
  }

  start(): void {
    this.options.changed('loading');
    void this.#load().catch(() => this.#again());
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const end of this.#ends) end();
    this.#release();
  }

  #on(name: string, listener: () => void): void {
    this.video.addEventListener(name, listener);
    this.#ends.push(() => this.video.removeEventListener(name, listener));
  }

  /** followEdge resumes a live picture that the browser has paused in the background, and skips what was missed. */
  #followEdge(): void {
    const look = (): void => {
      if (document.visibilityState !== 'visible' || !this.#hls) return;
      const { latency, targetLatency, liveSyncPosition } = this.#hls;
      if (liveSyncPosition !== null && latency > (targetLatency ?? 0) + mostBehindSec) this.video.currentTime = liveSyncPosition;
      if (this.video.paused && this.video.readyState > 0) void playOrMute(this.video);
    };
    const timer = setInterval(look, lookMs);
    document.addEventListener('visibilitychange', look);
    this.#ends.push(() => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    });
  }

  async #load(): Promise<void> {
    // The script and the playlist's URL are loaded side by side. A live stream has its sound and picture in the same segments, so the
    // light build is enough: a slow phone shows the picture 0.3 s earlier.
    const script = this.options.live ? import('hls.js/light') : import('hls.js');
    const [{ default: Engine }, url] = await Promise.all([script, this.options.source()]);
    if (this.#stopped) return;
    const address = ownAddress(url);
    if (!Engine.isSupported()) return this.#native(address);
    if (this.#address) this.#address.renew(address);
    else this.#address = new PlaybackAddress(address);
    const current = this.#address;
    const hls = new Engine({
      // Our segments are fMP4, which needs no conversion: a worker would only cost its loading.
      enableWorker: false, capLevelToPlayerSize: true, startPosition: this.options.live ? -1 : this.#second,
      ...(this.options.live ? { lowLatencyMode: true, backBufferLength: 10, maxLiveSyncPlaybackRate: 1.1 } : {}),
      xhrSetup: (xhr, to) => xhr.open('GET', current.of(to)),
    });
    this.#hls = hls;
    hls.on(Engine.Events.ERROR, (_, { fatal, type }) => {
      if (!fatal) return;
      if (type !== Engine.ErrorTypes.MEDIA_ERROR || this.#recoveries++ >= 2) return this.#again();
      this.options.restarts?.();
      hls.recoverMediaError();
    });
    hls.loadSource(current.url);
    hls.attachMedia(this.video);
    await playOrMute(this.video);
  }

  async #native(url: string): Promise<void> {
    this.video.src = url;
    if (!this.options.live && this.#second > 0) this.video.currentTime = this.#second;
    await playOrMute(this.video);
  }

  /** again restarts with a new URL. A recording continues where it was. */
  #again(): void {
    if (this.#stopped) return;
    if (!this.options.live && this.video.currentTime > 0) this.#second = this.video.currentTime;
    this.options.restarts?.();
    this.#release();
    this.options.changed(this.#backoff.attempts > 2 ? 'failed' : 'waiting');
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#load().catch(() => this.#again()), this.#backoff.next());
  }

  #release(): void {
    this.#hls?.destroy();
    this.#hls = undefined;
    this.#address = undefined;
    this.video.removeAttribute('src');
  }
}
