/** Growing pauses between attempts, each up to a half shorter at random so that clients don't come all at once. */
export class Backoff {
  #attempts = 0;

  /**
   * @param first  the first pause in milliseconds
   * @param most   the longest pause in milliseconds
   * @param random from 0 to 1, Math.random by default
   */
  constructor(
    private readonly first = 250,
    private readonly most = 5000,
    private readonly random: () => number = Math.random,
  ) {}

  /** How many pauses there were since the last success. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The next pause in milliseconds. */
  next(): number {
    const pause = Math.min(this.most, this.first * 2 ** this.#attempts);
    this.#attempts++;

    return pause * (1 - this.random() / 2);
  }

  /** After a success pauses begin small again. */
  reset(): void {
    this.#attempts = 0;
  }
}
