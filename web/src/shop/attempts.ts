import { ApiError } from '../rooms/api.js';
import { Backoff } from '../rooms/backoff.js';
import type { Memory } from './memory.js';

interface Attempt {
  key: string;
  at: number; // Date.now() when it began
}

const mostTries = 4;
const validMs = 25 * 60_000; // shorter than the life of a payment page, which a repeated checkout returns
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/**
 * Sends requests that must not be carried out twice. Each has an Idempotency-Key that is kept until the server's answer is
 * known, also over a reload of the page. So a repeated click after a lost connection repeats the request, and doesn't make a second one.
 */
export class Attempts {
  /** @param wait waits for a number of milliseconds; setTimeout by default */
  constructor(
    private readonly memory: Memory,
    private readonly wait: (ms: number) => Promise<void> = pause,
  ) {}

  /**
   * Sends a request, at most 4 times if no answer arrives. After an error with the code `network` call it again with the same
   * name to repeat the request under the same key.
   *
   * @param name all that the request contains: a different request has a different name
   */
  async once<Answer>(name: string, request: (key: string) => Promise<Answer>): Promise<Answer> {
    const slot = `attempt.${name}`;
    const before = this.memory.get<Attempt>(slot);
    const attempt = before && Math.abs(Date.now() - before.at) < validMs ? before : { key: newKey(), at: Date.now() };
    this.memory.set(slot, attempt);
    const backoff = new Backoff(500, 4000);
    for (let tries = 1; ; tries++) {
      try {
        const answer = await request(attempt.key);
        this.memory.set(slot, undefined);

        return answer;
      } catch (error) {
        const unknown = error instanceof ApiError && isUnknown(error);
        if (!unknown) this.memory.set(slot, undefined);
        if (!unknown || tries === mostTries || error.code === 'processor_unavailable') throw error;
        await this.wait(Math.max(backoff.next(), error.retryAfter * 1000));
      }
    }
  }
}

/** isUnknown reports whether the request may have been carried out, or is being carried out, although there was an error. */
function isUnknown(error: ApiError): boolean {
  if (error.code === 'network' || error.code === 'idempotency_in_progress') return true;
  // The processor's answer was lost if the problem names the order. Otherwise it definitely made no payment page.
  if (error.code === 'processor_unavailable') return error.message.includes('ord_');

  return error.status >= 500;
}

/** Returns a random Idempotency-Key. It also works on pages without https, where crypto.randomUUID doesn't exist. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
