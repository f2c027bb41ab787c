import type { Show } from '../gen/api.js';
import { type Loss, type Network, firstPause, isFast, mayTry, nextPause } from './choice.js';
import { Cover } from './cover.js';
import { HlsPlayback, type Playback, type PlaybackState, playOrMute } from './playback.js';
import { RoomFeed } from './room-feed.js';

const provenMs = 60_000; // a feed that ran for this long has worked: the next pause is the first one again
const checkMs = 5000; // before the conditions are checked again
const statusMs = 1500; // from the end of the tracks until the show's new status is known

/** Where a live show's video comes from. */
export interface LiveOptions {
  /** Returns a playlist's URL that is valid now. */
  source: () => Promise<string>;
  /** The show as it is now. */
  show: () => Pick<Show, 'status' | 'realtimeVideo' | 'viewerCount' | 'startedAt'> | undefined;
  /** The SFU's WebSocket. */
  sfuUrl: string;
  /** Returns the participant token that is valid now. */
  token: () => string;
  role: string | undefined;
  /** The stream's id. */
  id: string;
  changed: (state: PlaybackState) => void;
}

/**
 * Plays a live show: at once by LL-HLS, and by WebRTC from the stream's room as soon as frames arrive there. It returns to HLS when
 * they don't. The same video element plays both, so that its sound stays on or off, and only one of them is ever audible.
 */
export class LivePlayback implements Playback {
  #kind: 'hls' | 'webrtc' = 'hls';
  #hls: HlsPlayback | undefined;
  #feed: RoomFeed | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #statusTimer: ReturnType<typeof setTimeout> | undefined;
  #planned = false;
  #started = false; // a picture was shown
  #failures = 0;
  #feedAt = 0;
  #unsuited: string | null | undefined; // start of the broadcast that the room can't show
  #inView = true;
  readonly #view = new IntersectionObserver((entries) => {
    this.#inView = entries.at(-1)?.isIntersecting ?? true;
  });
  readonly #cover: Cover;
  readonly #network = (navigator as { connection?: Network & Partial<EventTarget> }).connection;

  constructor(
    private readonly video: HTMLVideoElement,
    canvas: HTMLCanvasElement,
    private readonly options: LiveOptions,
  ) {
    this.#cover = new Cover(video, canvas);
  }

  /** How the video is played now. */
  get kind(): 'hls' | 'webrtc' {
    return this.#kind;
  }

  /** Seconds behind: by HLS behind the encoder, by WebRTC behind the server. 0 if that isn't known. */
  get latency(): number {
    return (this.#kind === 'webrtc' ? this.#feed?.latency : this.#hls?.latency) ?? 0;
  }

  /** Frames that WebRTC has decoded since it was tried last. */
  get frames(): number {
    return this.#feed?.frames ?? 0;
  }

  /** Failed attempts since WebRTC has worked for a minute. */
  get failures(): number {
    return this.#failures;
  }

  start(): void {
    this.#view.observe(this.video);
    document.addEventListener('visibilitychange', this.#resume);
    addEventListener('pagehide', this.#leave);
    this.#network?.addEventListener?.('change', this.#networkChanged);
    this.#playHls();
  }

  stop(): void {
    this.#view.disconnect();
    clearTimeout(this.#timer);
    clearTimeout(this.#statusTimer);
    document.removeEventListener('visibilitychange', this.#resume);
    removeEventListener('pagehide', this.#leave);
    this.#network?.removeEventListener?.('change', this.#networkChanged);
    this.#feed?.stop();
    this.#hls?.stop();
    this.#feed = this.#hls = undefined;
    this.#cover.remove();
    this.video.srcObject = null;
  }

  #playHls(): void {
    this.#kind = 'hls';
    const { source } = this.options;
    const restarts = (): void => {
      this.#cover.hold();
      this.#cover.lift();
    };
    this.#hls = new HlsPlayback(this.video, { source, live: true, restarts, changed: (state) => this.#hlsChanged(state) });
    this.#hls.start();
  }

  #hlsChanged(state: PlaybackState): void {
    if (state === 'loading' && this.#started) return; // the last picture stays
    if (state === 'playing') this.#started = true;
    // The first frame by HLS doesn't wait for anything of WebRTC.
    if (!this.#planned && (state === 'playing' || state === 'failed')) this.#plan(firstPause(this.options.show()?.viewerCount ?? 0));
    this.options.changed(state);
  }

  /** plan tries WebRTC after a pause. */
  #plan(ms: number): void {
    this.#planned = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#try(), ms);
  }

  #try(): void {
    const show = this.options.show();
    const { role } = this.options;
    const may = show && show.startedAt !== this.#unsuited && mayTry({
      show, role, capable: 'RTCPeerConnection' in globalThis, visible: !this.#hidden(), online: navigator.onLine, network: this.#network,
    });
    if (!may) return this.#plan(checkMs * (1 + Math.random()));
    const { sfuUrl: url, id } = this.options;
    this.#feedAt = performance.now();
    this.#feed = new RoomFeed({
      url, token: this.options.token(), id, video: this.video, paused: () => this.options.show()?.status === 'RECONNECTING', hidden: () => this.#hidden(),
      ready: (media) => this.#playFeed(media), lost: (why) => this.#lose(why),
    });
    this.#feed.start();
  }

  /** hidden reports whether the video is out of the viewer's sight: the page is in the background, or the shop's page around it is scrolled. */
  #hidden(): boolean {
    return (document.hidden || !this.#inView) && document.pictureInPictureElement !== this.video;
  }

  #playFeed(media: MediaStream): void {
    clearTimeout(this.#statusTimer);
    this.#cover.hold();
    this.#hls?.stop();
    this.#hls = undefined;
    this.video.playbackRate = 1; // HLS plays faster to catch up
    this.video.srcObject = media;
    this.#kind = 'webrtc';
    this.#cover.lift();
    void playOrMute(this.video);
    this.options.changed('playing');
  }

  #lose(why: Loss): void {
    this.#feed = undefined;
    if (this.#kind === 'webrtc') {
      this.#cover.hold();
      if (why === 'over') this.#awaitStatus();
      else this.#return();
    }
    if (why === 'unsuited') this.#unsuited = this.options.show()?.startedAt;
    if (performance.now() - this.#feedAt > provenMs) this.#failures = 0;
    if (why === 'failed') this.#failures++;
    // The room can show the next broadcast, perhaps.
    const pause = why === 'unsuited' ? checkMs : nextPause(why, this.#failures);
    if (pause !== undefined) this.#plan(pause);
  }

  #return(): void {
    this.video.srcObject = null;
    this.#playHls();
    this.#cover.lift();
  }

  /** awaitStatus plays HLS again if the show isn't over. At its end HLS would repeat the last seconds. */
  #awaitStatus(): void {
    clearTimeout(this.#statusTimer);
    this.#statusTimer = setTimeout(() => {
      const status = this.options.show()?.status;
      if (status === 'LIVE' || status === 'RECONNECTING') return this.#return();
      this.options.changed('ended');
      this.#awaitStatus();
    }, statusMs);
  }

  /** resume plays a picture again that the browser has paused in the background. HLS does it by itself. */
  readonly #resume = (): void => {
    if (this.#kind === 'webrtc' && !document.hidden && this.video.paused) void playOrMute(this.video);
  };

  readonly #networkChanged = (): void => {
    if (!isFast(this.#network)) this.#leave();
  };

  /** leave gives the place at the server back at once. A closed tab would keep it for the 30 s in which a client may resume. */
  readonly #leave = (): void => {
    if (!this.#feed) return;
    this.#feed.stop();
    this.#lose('hidden');
  };
}
