import type {
  ChatMessage, Checkout, PlaybackUrl, Replay, ReplayGuestToken, ReplayMessage, Show, ShowAuction, ShowBidInput, ShowCart, ShowCartInput,
  ShowCheckoutInput, ShowClick, ShowOrder,
} from '../gen/api.js';
import type { Clock } from './clock.js';
import { type Call, call } from './request.js';

/** The holder of a participant token. */
export interface TokenSource {
  /** The token; undefined as long as there is none. */
  readonly token: string | undefined;
  /** Whether the token is a replay guest's, or will be one: it buys, but it reads no replay. */
  readonly guest: boolean;
  /** Returns the token, and requests one first if there is none. */
  obtain(): Promise<string>;
}

const checkoutMs = 65_000; // the server waits up to 60 s for the payment processor

/** The operations of a show and of its replays, for viewers. */
export class ShopApi {
  /**
   * @param id   the stream's or recording's id
   * @param base the API's base URL without a trailing slash; empty for the page's own server
   */
  constructor(
    readonly id: string,
    private readonly holder: TokenSource,
    private readonly clock: Clock,
    private readonly base = '',
  ) {}

  /** Whether there is a token. Without one, the first call that needs it requests a guest's. */
  get identified(): boolean {
    return this.holder.token !== undefined;
  }

  async show(): Promise<Show> {
    return this.#timed(() => this.#open<Show>(`shows/${this.#id}`));
  }

  /** The replay: for the token's participant, or for a guest the public one. */
  async replay(): Promise<Replay> {
    const path = `replays/${this.#id}`;

    return this.#timed(() => (this.holder.guest ? this.#open<Replay>(path) : this.#own<Replay>(path)));
  }

  /** Up to 200 chat messages of a replay from a second on, or after the message with an id. */
  replayChat(after: string): Promise<ReplayMessage[]> {
    const path = `replays/${this.#id}/chat?limit=200&after=${encodeURIComponent(after)}`;

    return this.holder.guest ? this.#open(path) : this.#own(path);
  }

  guestToken(): Promise<ReplayGuestToken> {
    return this.#open(`replays/${this.#id}/guest-token`, { method: 'POST' });
  }

  playbackUrl(): Promise<PlaybackUrl> {
    return this.#own(`shows/${this.#id}/playback-url`, { method: 'POST' });
  }

  /** The newest messages of the chat, oldest first. */
  chat(): Promise<ChatMessage[]> {
    return this.#open(`streams/${this.#id}/chat?limit=50`);
  }

  say(body: string, authorId: string, authorName: string, key: string): Promise<ChatMessage> {
    return this.#own(`streams/${this.#id}/chat`, { method: 'POST', body: { body, authorId, authorName }, key });
  }

  cart(): Promise<ShowCart> {
    return this.#own(`shows/${this.#id}/cart`);
  }

  storeCart(cart: ShowCartInput): Promise<ShowCart> {
    return this.#own(`shows/${this.#id}/cart`, { method: 'PUT', body: cart });
  }

  checkout(order: ShowCheckoutInput, key: string): Promise<Checkout> {
    return this.#own(`shows/${this.#id}/checkout`, { method: 'POST', body: order, key, timeoutMs: checkoutMs });
  }

  orders(): Promise<ShowOrder[]> {
    return this.#own(`shows/${this.#id}/orders?limit=50`);
  }

  order(orderId: string): Promise<ShowOrder> {
    return this.#own(`shows/${this.#id}/orders/${encodeURIComponent(orderId)}`);
  }

  bid(auctionId: string, bid: ShowBidInput, key: string): Promise<ShowAuction> {
    return this.#own(`shows/${this.#id}/auctions/${encodeURIComponent(auctionId)}/bids`, { method: 'POST', body: bid, key });
  }

  /** Counts that a product was opened. Only the number is stored. */
  click(productId: string): Promise<ShowClick> {
    return this.#own(`shows/${this.#id}/clicks`, { method: 'POST', body: { productId } });
  }

  get #id(): string {
    return encodeURIComponent(this.id);
  }

  #open<Answer>(path: string, options?: Call): Promise<Answer> {
    return call(`${this.base}/v1/${path}`, options);
  }

  async #own<Answer>(path: string, options: Call = {}): Promise<Answer> {
    return call(`${this.base}/v1/me/${path}`, { ...options, token: await this.holder.obtain() });
  }

  async #timed<Answer extends { serverTime: string }>(request: () => Promise<Answer>): Promise<Answer> {
    const sent = this.clock.local();
    const answer = await request();
    this.clock.learn({ server: Date.parse(answer.serverTime), sent, received: this.clock.local() });

    return answer;
  }
}
