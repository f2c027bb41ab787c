/**
 * The address of a stream's playlist, which the server replaces every few minutes: a playback URL in a `fallback` is good
 * for 5 to 10 minutes, and what lies below it as well. The files below both addresses are the same, so a player goes on
 * if each of its requests goes to the newest one:
 *
 * ```ts
 * const address = new PlaybackAddress(room.fallback.url);
 * room.on('fallback', (fallback) => fallback && address.renew(fallback.url));
 * const hls = new Hls({ xhrSetup: (xhr, url) => xhr.open('GET', address.of(url)) });
 * hls.loadSource(address.url);
 * ```
 */
export class PlaybackAddress {
  #url: string;
  readonly #old = new Set<string>(); // folders below which the player may still ask

  constructor(url: string) {
    this.#url = url;
  }

  /** The newest address. */
  get url(): string {
    return this.#url;
  }

  /** Takes the place of the address before. */
  renew(url: string): void {
    this.#old.add(folder(this.#url));
    this.#url = url;
    this.#old.delete(folder(url));
  }

  /** The address at which a file is to be loaded that the player knows below an earlier address. */
  of(url: string): string {
    const old = [...this.#old].find((prefix) => url.startsWith(prefix));

    return old === undefined ? url : folder(this.#url) + url.slice(old.length);
  }
}

function folder(url: string): string {
  return url.slice(0, url.lastIndexOf('/') + 1);
}
