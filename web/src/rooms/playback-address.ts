/**
 * The address of a stream's playlist. The server replaces it every few minutes, because a playback URL in a `fallback` is
 * valid for 5 to 10 minutes, together with the files below it. The old and the new address lead to the same files, so a
 * player continues if each of its requests goes to the newest address:
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
  readonly #old = new Set<string>(); // folders of earlier addresses, which the player may still request

  constructor(url: string) {
    this.#url = url;
  }

  /** The newest address. */
  get url(): string {
    return this.#url;
  }

  /** Replaces the address. */
  renew(url: string): void {
    this.#old.add(folder(this.#url));
    this.#url = url;
    this.#old.delete(folder(url));
  }

  /** Returns the current address of a file that the player requests below an earlier one. Other addresses don't change. */
  of(url: string): string {
    const old = [...this.#old].find((prefix) => url.startsWith(prefix));

    return old === undefined ? url : folder(this.#url) + url.slice(old.length);
  }
}

function folder(url: string): string {
  return url.slice(0, url.lastIndexOf('/') + 1);
}
