import type { Publication } from '../rooms/realtime.js';
import type { Clock } from './clock.js';

const keptMs = 10_000;
const most = 500;
const staleMs = 2500; // the age of an answer: a second in the server, a second in a cache, and half a second between the two clocks

/** The publications of the last 10 s, for a show that was read from a cache and is older than they are. */
export class Recent {
  #list: { at: number; publication: Publication }[] = [];

  constructor(private readonly clock: Clock) {}

  add(publication: Publication): void {
    const now = this.clock.now();
    this.#list = [...this.#list.filter(({ at }) => at > now - keptMs), { at: now, publication }].slice(-most);
  }

  /** The publications that an answer with this `serverTime`, in milliseconds, may not contain, oldest first. */
  since(serverTime: number): Publication[] {
    return this.#list.filter(({ at }) => at > serverTime - staleMs).map(({ publication }) => publication);
  }
}
