import type Hls from 'hls.js';

import { PlaybackAddress, type Room } from '../rooms/index.js';
import { el } from './dom.js';

const retryMs = 2000; // between two attempts to load the playlist

/** Plays a stream's HLS playlist, with sound, instead of the tracks that its room can't show. */
export class Playback {
  readonly element = el('video', { playsinline: true, hidden: true });
  #address: PlaybackAddress | undefined;
  #hls: Hls | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  /** @param changed is called when `plays` may have changed */
  constructor(
    private readonly room: Room,
    changed: () => void,
  ) {
    this.element.addEventListener('playing', () => this.#hear(false));
    for (const event of ['loadeddata', 'emptied']) this.element.addEventListener(event, changed);
  }

  /** Whether the playlist's picture is shown. */
  get plays(): boolean {
    return this.#address !== undefined && this.element.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA;
  }

  /** Plays the playlist; undefined stops it. With a new address of the same playlist, playback continues. */
  play(url: string | undefined): void {
    const wanted = url ? ownAddress(url) : undefined;
    if (wanted === this.#address?.url) return;
    if (!wanted) return this.#stop();
    if (this.#address) {
      this.#address.renew(wanted);
      // The browser's own player can't change its address: it starts again.
      if (!this.#hls && this.element.hasAttribute('src')) void this.#startNative(wanted);
    } else {
      this.#address = new PlaybackAddress(wanted);
      void this.#start(this.#address);
    }
  }

  async #start(address: PlaybackAddress): Promise<void> {
    const { default: Engine } = await import('hls.js');
    if (address !== this.#address) return;
    if (!Engine.isSupported()) {
      return this.#startNative(address.url);
    }
    const hls = new Engine({
      lowLatencyMode: true, workerPath: '/assets/hls.worker.js', backBufferLength: 10, maxLiveSyncPlaybackRate: 1.1,
      xhrSetup: (xhr, url) => xhr.open('GET', address.of(url)),
    });
    this.#hls = hls;
    hls.on(Engine.Events.ERROR, (_, { fatal }) => {
      if (fatal) this.#again(address);
    });
    hls.loadSource(address.url);
    hls.attachMedia(this.element);
    await this.#begin();
  }

  /** startNative lets the browser itself play the playlist, as on older iPhones. */
  #startNative(url: string): Promise<void> {
    this.element.src = url;

    return this.#begin();
  }

  async #begin(): Promise<void> {
    // Before a click on the page the browser blocks sound: then this player is muted, and the room's own sound continues.
    await this.element.play().catch(async () => {
      this.element.muted = true;
      await this.element.play().catch(() => undefined);
    });
  }

  /** again restarts the playback after retryMs: the playlist begins a little later than the stream. */
  #again(address: PlaybackAddress): void {
    this.#stop();
    this.#address = address;
    this.#retry = setTimeout(() => void this.#start(address), retryMs);
  }

  #stop(): void {
    clearTimeout(this.#retry);
    this.#hls?.destroy();
    this.#hls = undefined;
    this.#address = undefined;
    this.element.removeAttribute('src');
    this.element.muted = false;
    this.#hear(true);
  }

  /** hear plays or silences the stream's sound from the room. It is always played while this player is muted. */
  #hear(yes: boolean): void {
    const sound = [...this.room.tracks.values()].find((track) => track.source === 'stream-audio');
    if (sound) this.room.setHeard(sound.id, yes || this.element.muted);
  }
}

/** ownAddress returns the address with the page's host name if both are names of this machine: localhost or 127.0.0.1. */
function ownAddress(text: string): string {
  const url = new URL(text, location.href);
  const names = ['localhost', '127.0.0.1'];
  if (names.includes(url.hostname) && names.includes(location.hostname)) url.hostname = location.hostname;

  return url.href;
}
