/** A server's time with the local times around the request that returned it. All are in milliseconds. */
export interface Sample {
  /** The server's time since 1970 in the answer. */
  server: number;
  /** The monotonic local time when the request was sent. */
  sent: number;
  /** The monotonic local time when the answer arrived. */
  received: number;
}

const keptSamples = 8;

/**
 * The server's clock, for countdowns. It is set by answers that contain the server's time, plus half of their round trip. Between
 * answers it runs with a monotonic clock, so it doesn't depend on the device's date, which may be wrong or change.
 *
 * An answer from a shared cache contains an earlier time. So the clock uses the latest of the last 8 samples' estimates, and
 * prefers short round trips: no estimate is ahead of the server by more than half of the round trip.
 */
export class Clock {
  #samples: Sample[] = [];
  #ahead: number | undefined; // the server's time minus the monotonic local one

  /** @param local the monotonic local time in milliseconds; performance.now() by default */
  constructor(readonly local: () => number = () => performance.now()) {}

  /** Whether a server's time is known. Until then now() is the device's own time. */
  get known(): boolean {
    return this.#ahead !== undefined;
  }

  /** The server's time in milliseconds since 1970. */
  now(): number {
    return this.#ahead === undefined ? Date.now() : this.local() + this.#ahead;
  }

  /** Milliseconds until a time such as `endsAt`; 0 after it. */
  left(time: string | number): number {
    return Math.max(0, (typeof time === 'string' ? Date.parse(time) : time) - this.now());
  }

  /** Sets the clock by an answer. */
  learn(sample: Sample): void {
    if (!Number.isFinite(sample.server)) return;
    this.#samples = [...this.#samples, sample].slice(-keptSamples);
    const shortest = Math.min(...this.#samples.map(trip));
    const estimates = this.#samples.filter((one) => trip(one) <= 2 * shortest + 20).map((one) => one.server + trip(one) / 2 - one.received);
    const atLeast = this.#samples.map((one) => one.server - one.received);
    this.#ahead = Math.max(...estimates, ...atLeast);
  }

  /** Forgets all samples: the monotonic clock may have paused while the device was asleep. The next answer sets the clock. */
  forget(): void {
    this.#samples = [];
  }
}

function trip(sample: Sample): number {
  return Math.max(0, sample.received - sample.sent);
}
