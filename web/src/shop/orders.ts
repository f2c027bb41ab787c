import type { Checkout, ShowCheckoutInput, ShowOrder } from '../gen/api.js';
import type { ShopApi } from './api.js';
import type { Attempts } from './attempts.js';
import type { Memory } from './memory.js';
import { asApiError } from './request.js';

const firstPollMs = 1000;
const longestPollMs = 10_000;
const openSlot = 'order';

/** The buyer's checkouts and orders in a show. */
export class Orders {
  readonly #looks = new Set<() => void>(); // of the orders that are watched

  constructor(
    private readonly api: Pick<ShopApi, 'checkout' | 'order' | 'orders'>,
    private readonly attempts: Attempts,
    private readonly memory: Memory,
  ) {}

  /** The id of the last order, also after the return from the payment page; undefined if there is none or it was forgotten. */
  get current(): string | undefined {
    return this.memory.get<string>(openSlot);
  }

  set current(orderId: string | undefined) {
    this.memory.set(openSlot, orderId);
  }

  /** Creates an order and its payment page. The same input after a network error repeats the request: no second order is made. */
  async checkout(input: ShowCheckoutInput): Promise<Checkout> {
    const made = await this.attempts.once(`checkout.${JSON.stringify(input)}`, (key) => this.api.checkout(input, key));
    this.current = made.orderId;

    return made;
  }

  /** The order of an auction that the buyer has won; undefined until it exists. */
  async ofAuction(auctionId: string): Promise<ShowOrder | undefined> {
    return (await this.api.orders()).find((order) => order.auctionId === auctionId);
  }

  /** Reads the watched orders at once, for example when a payment window has returned. */
  look(): void {
    for (const look of this.#looks) look();
  }

  /**
   * Reads an order again and again, until it is no longer PENDING, at intervals from 1 to 10 seconds.
   *
   * @param changed receives each state
   * @returns a function that stops it
   */
  watch(orderId: string, changed: (order: ShowOrder) => void): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopped = false;
    let interval = firstPollMs;
    const read = async (): Promise<void> => {
      try {
        const order = await this.api.order(orderId);
        if (stopped) return;
        changed(order);
        if (order.status !== 'PENDING') return stop();
      } catch (error) {
        const { status } = asApiError(error);
        if ([401, 403, 404].includes(status)) return stop();
      }
      interval = Math.min(longestPollMs, interval * 1.3);
      if (!stopped) timer = setTimeout(() => void read(), interval);
    };
    const look = (): void => {
      if (stopped) return;
      clearTimeout(timer);
      interval = firstPollMs;
      timer = setTimeout(() => void read(), 100);
    };
    // A buyer who returns from the payment page sees the result at once.
    const seen = (): void => {
      if (document.visibilityState === 'visible') look();
    };
    const stop = (): void => {
      stopped = true;
      clearTimeout(timer);
      this.#looks.delete(look);
      document.removeEventListener('visibilitychange', seen);
      removeEventListener('focus', seen);
    };
    document.addEventListener('visibilitychange', seen);
    addEventListener('focus', seen);
    this.#looks.add(look);
    void read();

    return stop;
  }
}
