import type { Checkout, ShowCheckoutInput, ShowOrder } from '../gen/api.js';
import type { ShopApi } from './api.js';
import type { Attempts } from './attempts.js';
import type { Clock } from './clock.js';
import type { Memory } from './memory.js';
import { asApiError } from './request.js';

const firstPollMs = 1000;
const longestPollMs = 10_000;
const enoughMs = 10 * 60_000; // for a payment
const openSlot = 'order';
const pageSlot = 'page';

/** The newest payment page and the request that made it. */
interface Page {
  name: string;
  checkout: Checkout;
}

/** The buyer's checkouts and orders in a show. */
export class Orders {
  readonly #looks = new Set<() => void>(); // of the orders that are watched

  constructor(
    private readonly api: Pick<ShopApi, 'checkout' | 'order' | 'orders'>,
    private readonly attempts: Attempts,
    private readonly memory: Memory,
    private readonly clock: Clock,
  ) {}

  /** The id of the last order, also after the return from the payment page; undefined if there is none or it was forgotten. */
  get current(): string | undefined {
    return this.memory.get<string>(openSlot);
  }

  set current(orderId: string | undefined) {
    this.memory.set(openSlot, orderId);
  }

  /**
   * Creates an order and its payment page. The same input after a network error repeats the request: no second order is made. If the last
   * payment page is for the same input and the same sum, and is open for some more minutes, it is returned again: the buyer has left it
   * by the back button.
   *
   * @param totalCents the sum that the buyer sees; without it each call makes a new order
   */
  async checkout(input: ShowCheckoutInput, totalCents?: number): Promise<Checkout> {
    const name = JSON.stringify(input);
    const made = (await this.#openPage(name, totalCents))
      ?? (await this.attempts.once(`checkout.${name}`, (key) => this.api.checkout(input, key)));
    this.memory.set(pageSlot, { name, checkout: made } satisfies Page);
    this.current = made.orderId;

    return made;
  }

  async #openPage(name: string, totalCents: number | undefined): Promise<Checkout | undefined> {
    const page = this.memory.get<Page>(pageSlot);
    if (page?.name !== name) return undefined;
    const order = await this.api.order(page.checkout.orderId).catch((thrown: unknown) => {
      if (asApiError(thrown).status !== 404) throw thrown;
    });
    if (order?.status !== 'PENDING' || !order.checkoutUrl || order.totalCents !== totalCents) return undefined;
    if (!order.expiresAt || this.clock.left(order.expiresAt) < enoughMs) return undefined;

    return { ...page.checkout, url: order.checkoutUrl };
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
