/**
 * Pauses between attempts: each is twice as long as the one before, up to `most`. Up to half of each pause is
 * subtracted at random, so that clients don't reconnect all at the same time.
 */
export class Backoff {
  #attempts = 0;

  /**
   * @param first  the first pause in milliseconds
   * @param most   the longest pause in milliseconds
   * @param random returns a number from 0 to 1; Math.random by default
   */
  constructor(
    private readonly first = 250,
    private readonly most = 5000,
    private readonly random: () => number = Math.random,
  ) {}

  /** Number of pauses since the last reset. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The next pause in milliseconds. */
  next(): number {
    const pause = Math.min(this.most, this.first * 2 ** this.#attempts);
    this.#attempts++;

    return pause * (1 - this.random() / 2);
  }

  /** Starts again with the first pause. Call it after a success. */
  reset(): void {
    this.#attempts = 0;
  }
}
