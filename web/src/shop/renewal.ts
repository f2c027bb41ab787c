import { type Ticket, readTicket } from '../rooms/ticket.js';
import type { TokenSource } from './api.js';
import type { Clock } from './clock.js';

/** Returns a new token for the same participant and room; undefined if there is none. The argument is the end of the present token. */
export type RenewToken = (expiresAt: Date) => Promise<string | undefined>;

const leadMs = 10 * 60_000; // before the token expires
const pauseMs = 15_000; // between two requests for a new token

/** A participant token that is renewed before it expires, if the page can get a new one. */
export class Renewal implements TokenSource {
  readonly guest = false;
  #token: string;
  #ticket: Ticket | undefined;
  #lead: number | undefined;
  #askedAt = -Infinity; // clock.local()
  #renewing: Promise<void> | undefined;

  /**
   * @param request gets a new token; undefined if there are none
   * @param renewed is called with each new token
   */
  constructor(
    token: string,
    private readonly clock: Clock,
    private readonly request: RenewToken | undefined,
    private readonly renewed: (token: string) => void = () => undefined,
  ) {
    this.#token = token;
    this.#ticket = readTicket(token);
  }

  get token(): string {
    return this.#token;
  }

  /** The content of the token; undefined for a text that is no token. */
  get ticket(): Ticket | undefined {
    return this.#ticket;
  }

  /** Requests a new token if this one expires within 10 minutes, or within half of a shorter life. Call it again and again. */
  look(): void {
    if (!this.#ticket || !this.clock.known) return; // a device's own clock may be wrong
    const left = this.clock.left(this.#ticket.expiresAt.getTime());
    this.#lead ??= Math.min(leadMs, left / 2);
    if (left <= this.#lead) void this.#renew();
  }

  /** Returns the token. One that has expired is renewed first, if that is possible. */
  async obtain(): Promise<string> {
    const expired = this.#ticket && this.clock.known && this.clock.left(this.#ticket.expiresAt.getTime()) === 0;
    if (expired) await this.#renew();

    return this.#token;
  }

  async #renew(): Promise<void> {
    if (!this.request || !this.#ticket) return;
    if (!this.#renewing && this.clock.local() < this.#askedAt + pauseMs) return;
    this.#askedAt = this.#renewing ? this.#askedAt : this.clock.local();
    this.#renewing ??= this.request(this.#ticket.expiresAt).then((token) => this.take(token), () => undefined).finally(() => (this.#renewing = undefined));
    await this.#renewing;
  }

  /** Replaces the token. A token of another participant or room is ignored: the cart and the bids on the page are this participant's. */
  take(token: string | undefined): void {
    const ticket = token === undefined ? undefined : readTicket(token);
    if (token === undefined || !ticket || token === this.#token) return;
    if (ticket.room !== this.#ticket?.room || ticket.userId !== this.#ticket.userId) {
      console.warn('The new token is for another participant or room. It is ignored.');

      return;
    }
    this.#token = token;
    this.#ticket = ticket;
    this.#lead = undefined;
    this.renewed(token);
  }
}
