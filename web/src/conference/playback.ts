import type Hls from 'hls.js';

import { PlaybackAddress, type Room } from '../rooms/index.js';
import { el } from './dom.js';

const retryMs = 2000; // between two attempts to load the playlist

/** A stream's playlist, with its sound, in the place of tracks that its room can't show. */
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

  /** Whether its picture is there. */
  get plays(): boolean {
    return this.#address !== undefined && this.element.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA;
  }

  /** Plays the playlist, or nothing without one. Another address of it goes on where the one before was. */
  play(url: string | undefined): void {
    const wanted = url ? ownAddress(url) : undefined;
    if (wanted === this.#address?.url) return;
    if (!wanted) return this.#stop();
    if (this.#address) {
      this.#address.renew(wanted);
      if (!this.#hls && this.element.hasAttribute('src')) void this.#startNative(wanted); // it can't be given another address
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

  /** startNative leaves the playlist to the browser, as on older phones of Apple. */
  #startNative(url: string): Promise<void> {
    this.element.src = url;

    return this.#begin();
  }

  async #begin(): Promise<void> {
    // Without a click on the page the browser allows no sound: the room's own goes on then.
    await this.element.play().catch(async () => {
      this.element.muted = true;
      await this.element.play().catch(() => undefined);
    });
  }

  /** again starts anew after a while: the playlist begins a little later than the stream. */
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

  /** hear switches the sound that comes by the room. */
  #hear(yes: boolean): void {
    const sound = [...this.room.tracks.values()].find((track) => track.source === 'stream-audio');
    if (sound) this.room.setHeard(sound.id, yes || this.element.muted);
  }
}

/** ownAddress is the address under this page's name of the server: localhost has two. */
function ownAddress(text: string): string {
  const url = new URL(text, location.href);
  const names = ['localhost', '127.0.0.1'];
  if (names.includes(url.hostname) && names.includes(location.hostname)) url.hostname = location.hostname;

  return url.href;
}
