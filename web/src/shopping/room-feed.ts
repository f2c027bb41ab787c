import type { Fallback, Room, Track } from '../rooms/index.js';
import { type Broadcast, type Loss, broadcastOf, lossOf } from './choice.js';

const lookMs = 500; // between two looks at the decoded frames
const startMs = 10_000; // from the attempt to the first frames
const stallMs = 3000; // without a frame, before the feed counts as lost
const asleepMs = 2000; // between two looks: the browser has paused the page's timers
const enoughFrames = 3; // show that the path works
const hiddenMs = 60_000; // in the background, before the viewer's place at the server is given back

/** Where a feed connects and what it reports. */
export interface FeedOptions {
  /** The SFU's WebSocket. */
  url: string;
  token: string;
  /** The stream's id. */
  id: string;
  /** The element in which the stream will be played: its size says how large a picture is needed. */
  video: HTMLVideoElement;
  /** Whether the video is out of the viewer's sight, so that the server sends no picture. */
  hidden: () => boolean;
  /** Whether the encoder is away, so that no frames can come. */
  paused: () => boolean;
  /** Frames are decoded: play this stream. It is called again with another stream when the broadcast's tracks change. */
  ready: (media: MediaStream) => void;
  /** The feed has ended. It is called once, at most. */
  lost: (why: Loss) => void;
}

/** The broadcast in a stream's room, received by WebRTC. It measures whether pictures arrive; playing them is the caller's part. */
export class RoomFeed {
  #room: Room | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #ended = false;
  #ready = false;
  #shown: Broadcast | undefined;
  #media: MediaStream | undefined;
  #frames = 0;
  #delay = { sum: 0, frames: 0 };
  #latency = 0;
  #movedAt = 0;
  #hiddenAt: number | undefined;
  #lookedAt = 0;
  readonly #startedAt = performance.now();

  constructor(private readonly options: FeedOptions) {}

  /** Seconds behind the server, by the browser's statistics; 0 if they don't say it. */
  get latency(): number {
    return this.#latency;
  }

  /** Frames that were decoded so far. */
  get frames(): number {
    return this.#frames;
  }

  start(): void {
    void this.#connect().catch(() => this.#end('failed'));
  }

  /** Leaves the room. */
  stop(): void {
    this.#ended = true;
    clearInterval(this.#timer);
    this.#room?.unobserve(this.options.video);
    this.#room?.leave();
  }

  async #connect(): Promise<void> {
    this.#timer = setInterval(() => void this.#look().catch(() => undefined), lookMs);
    const { Room } = await import('../rooms/index.js'); // loaded only by pages that try WebRTC
    if (this.#ended) return;
    const { url, token, id } = this.options;
    const room = new Room({ url, token, room: id, watch: true, playSound: false });
    this.#room = room;
    for (const name of ['welcome', 'participant', 'left', 'track', 'untrack', 'media'] as const) room.on(name, () => this.#select());
    room.on('fallback', (fallback) => this.#refuse(fallback));
    room.on('closed', ({ code }) => this.#end(lossOf(code)));
    await room.connect().catch(() => undefined); // the event `closed` has told it
  }

  #refuse(fallback: Fallback | undefined): void {
    if (!fallback || fallback.code === 'waiting_for_key_frame') return; // HLS plays until the key frame
    this.#end('unsuited');
  }

  #end(why: Loss): void {
    if (this.#ended) return;
    this.stop();
    this.options.lost(why);
  }

  /** select chooses the broadcast's tracks, and hands them out once they arrive. */
  #select(): void {
    const room = this.#room;
    if (!room || this.#ended) return;
    const { video } = this.options;
    const now = broadcastOf(room.tracks.values(), room.participants);
    if (!now) {
      if (this.#ready && room.state === 'joined') this.#end('over');

      return;
    }
    if (now.video.id !== this.#shown?.video.id) {
      room.unobserve(video);
      room.observe(now.video.id, video);
    }
    this.#shown = now;
    const tracks = this.#tracks(room, now);
    const same = tracks.length === this.#media?.getTracks().length && tracks.every((track) => this.#media?.getTrackById(track.id) === track);
    if (same || !tracks.some(({ kind }) => kind === 'video')) return;
    this.#media = new MediaStream(tracks);
    if (this.#ready) this.options.ready(this.#media);
  }

  #tracks(room: Room, { video, audio }: Broadcast): MediaStreamTrack[] {
    return [video, audio].map((track: Track | undefined) => track && room.mediaOf(track.id)).filter((track) => track !== undefined);
  }

  async #look(): Promise<void> {
    const now = performance.now();
    const slept = this.#lookedAt > 0 && now - this.#lookedAt > asleepMs;
    this.#lookedAt = now;
    if (slept) this.#movedAt = now;
    if (this.options.hidden()) {
      // The server sends no picture to a hidden video, but the sound.
      this.#hiddenAt ??= now;
      this.#movedAt = now;
      if (now - this.#hiddenAt > hiddenMs) this.#end('hidden');

      return;
    }
    this.#hiddenAt = undefined;
    if (!this.#ready && now - this.#startedAt > startMs) return this.#end('failed');
    // Then HLS has no pictures either. A host's camera that is switched off is muted.
    if (this.#shown?.video.muted || this.options.paused()) this.#movedAt = now;
    if (this.#ready && now - this.#movedAt > stallMs) return this.#end('failed');
    const { subscribe } = (await this.#room?.stats()) ?? {}; // a closed connection has none, and rejects
    if (this.#ended) return;
    this.#measure(subscribe);
    if (this.#ready || !this.#media || this.#frames < enoughFrames) return;
    this.#ready = true;
    this.options.ready(this.#media);
  }

  /** measure reads the number of decoded frames, and how long they took from the server to the screen. */
  #measure(report: RTCStatsReport | undefined): void {
    let frames = 0;
    let delay = 0;
    let roundTrip = 0;
    report?.forEach((entry: { type: string; kind?: string; framesDecoded?: number; totalProcessingDelay?: number; currentRoundTripTime?: number }) => {
      if (entry.type === 'candidate-pair') roundTrip = Math.max(roundTrip, entry.currentRoundTripTime ?? 0);
      if (entry.type !== 'inbound-rtp' || entry.kind !== 'video') return;
      frames += entry.framesDecoded ?? 0;
      delay += entry.totalProcessingDelay ?? 0;
    });
    if (frames === this.#frames) return;
    this.#frames = frames;
    this.#movedAt = performance.now();
    const more = frames - this.#delay.frames;
    if (more > 0 && delay > 0) this.#latency = (delay - this.#delay.sum) / more + roundTrip / 2;
    this.#delay = { sum: delay, frames };
  }
}
