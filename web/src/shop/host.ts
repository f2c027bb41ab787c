import type {
  ChatMessage, DiscountDropInput, ShowAuction, ShowAuctionInput, ShowDrop, ShowPin, ShowSale, ShowState, ShowStreamKey,
} from '../gen/api.js';
import { type Call, call } from './request.js';

/** The operations with which a host runs a show. All others get 403 `forbidden`. */
export class HostApi {
  /**
   * @param id     the stream's id
   * @param token  the host's participant token
   * @param userId the user of the token
   * @param base   the API's base URL without a trailing slash; empty for the page's own server
   */
  constructor(
    readonly id: string,
    private readonly token: string,
    private readonly userId: string,
    private readonly base = '',
  ) {}

  /** Shows a product to all viewers; null shows none. */
  pin(productId: string | null): Promise<ShowPin> {
    return this.#show('pin', { method: 'PUT', body: { productId } });
  }

  drop(drop: DiscountDropInput, key: string): Promise<ShowDrop> {
    return this.#show('drops', { method: 'POST', body: drop, key });
  }

  startAuction(auction: ShowAuctionInput, key: string): Promise<ShowAuction> {
    return this.#show('auctions', { method: 'POST', body: auction, key });
  }

  cancelAuction(auctionId: string): Promise<ShowAuction> {
    return this.#show(`auctions/${encodeURIComponent(auctionId)}/cancel`, { method: 'POST' });
  }

  /** The newest 200 orders of the stream. Cohosts may read them too. */
  sales(): Promise<ShowSale[]> {
    return this.#show('sales?limit=200');
  }

  /** Replaces the stream key. Only this answer has the whole new one. */
  newStreamKey(key: string): Promise<ShowStreamKey> {
    return this.#show('stream-key', { method: 'POST', key });
  }

  /** Ends the broadcast. */
  end(): Promise<ShowState> {
    return this.#show('end', { method: 'POST' });
  }

  deleteMessage(messageId: string): Promise<ChatMessage> {
    return this.#call(`channels/${this.#id}/messages/${encodeURIComponent(messageId)}`, { method: 'DELETE' });
  }

  /** Bans a user: they can't write, read or enter any more. */
  ban(userId: string): Promise<unknown> {
    return this.#call(`channels/${this.#id}/moderate/ban`, { method: 'POST', body: { target: userId, by: this.userId } });
  }

  /** Keeps a user from writing for some seconds. */
  timeout(userId: string, seconds: number): Promise<unknown> {
    return this.#call(`channels/${this.#id}/moderate/timeout`, { method: 'POST', body: { target: userId, by: this.userId, durationSec: seconds } });
  }

  get #id(): string {
    return encodeURIComponent(this.id);
  }

  #show<Answer>(path: string, options?: Call): Promise<Answer> {
    return this.#call(`shows/${this.#id}/${path}`, options);
  }

  #call<Answer>(path: string, options: Call = {}): Promise<Answer> {
    return call(`${this.base}/v1/me/${path}`, { ...options, token: this.token });
  }
}
