import type { Show } from '../gen/api.js';
import { ApiError } from '../rooms/api.js';
import { Backoff } from '../rooms/backoff.js';
import { Emitter } from '../rooms/emitter.js';
import { type Publication, Realtime, type RealtimeRoom } from '../rooms/realtime.js';
import type { Ticket } from '../rooms/ticket.js';
import { ShopApi } from './api.js';
import { Attempts } from './attempts.js';
import { Bids } from './bids.js';
import { Cart } from './cart.js';
import { Clock } from './clock.js';
import { type Memory, memoryOf } from './memory.js';
import { Orders } from './orders.js';
import { Recent } from './recent.js';
import { type RenewToken, Renewal } from './renewal.js';
import { asApiError } from './request.js';
import { type LiveState, apply, withAuction, withMessages } from './state.js';
import { watchSleep } from './wake.js';

/** The options of a LiveShow. */
export interface ShowOptions {
  /** The stream's id. */
  id: string;
  /** A participant token for the stream's room. */
  token: string;
  /** Gets a new token 10 minutes before the token expires; without it, the show ends for the viewer with the token. */
  renewToken?: RenewToken | undefined;
  /** The API's base URL without a trailing slash; empty, the default, for the page's own server. */
  base?: string;
  /** The realtime channel's WebSocket, if it isn't on the page's own server. */
  realtimeUrl?: string;
  /** Where keys and own bids are kept over a reload; sessionStorage by default. */
  memory?: Memory;
}

/** The events of a LiveShow. */
export interface ShowEvents {
  /** `state` has changed. */
  change: LiveState;
  /** The number of hearts that viewers sent just now; own ones are included. */
  hearts: number;
  /** A late bid has extended an auction. */
  extended: { auctionId: string; seconds: number };
  /** The show can't be shown: its id is unknown, or the token isn't valid for it. Nothing follows. */
  closed: ApiError;
}

const pollMs = 10_000; // reads the show as long as no publications arrive
const replayPollMs = 15_000; // reads an ended show until its recording is ready
const replayPolls = 40; // 10 minutes
const refreshMs = 90_000; // the longest time without reading a show that is visible
const mostSpreadMs = 10_000;
const refusedMs = 10_000; // at least, before it connects again after a refusal
const mostUnrenewed = 4; // refusals of the token, about 15 s apart, before a page that can renew it ends
const overdueMs = 3_000; // after an auction's end without its publication

/**
 * A live show: reads it once, then follows its publications on one connection. It reads the show again when publications may be missing:
 * after a gap, after sleep, and when the server restarts. Viewers do this at random times within up to 10 s, depending on their number.
 *
 * ```ts
 * const show = new LiveShow({ id, token });
 * show.on('change', ({ show, chat }) => draw(show.products, show.pinnedProductId, chat));
 * show.start();
 * show.cart.add(product, 1);
 * await show.cart.flush();
 * ```
 */
export class LiveShow extends Emitter<ShowEvents> {
  readonly clock = new Clock();
  readonly api: ShopApi;
  readonly cart: Cart;
  readonly orders: Orders;
  readonly bids: Bids;
  #state: LiveState | undefined;
  #realtime: Realtime | undefined;
  #room: RealtimeRoom | undefined;
  #loading: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined; // connects after a refusal
  #unrenewed = 0; // refusals of an expired token since the last renewal
  #pricing: ReturnType<typeof setTimeout> | undefined; // reads the cart
  #poll: ReturnType<typeof setInterval> | undefined;
  #stopWatching: (() => void) | undefined;
  #closed = false;
  #replayPolls = 0;
  #loadedAt = 0; // the server's time in milliseconds
  readonly #backoff = new Backoff(1000, 15_000);
  readonly #holder: Renewal;
  readonly #recent: Recent;
  readonly #attempts: Attempts;

  constructor(private readonly options: ShowOptions) {
    super();
    const { id, token, base } = options;
    this.#holder = new Renewal(token, this.clock, options.renewToken, (renewed) => this.#renewed(renewed));
    this.#recent = new Recent(this.clock);
    this.api = new ShopApi(id, this.#holder, this.clock, base);
    const memory = options.memory ?? memoryOf(() => sessionStorage, `showfloor.${id}.`);
    this.#attempts = new Attempts(memory);
    this.cart = new Cart(this.api);
    this.orders = new Orders(this.api, this.#attempts, memory, this.clock);
    this.bids = new Bids(this.api, this.#attempts, memory);
  }

  /** The show as last read, with later publications; undefined until it was read. */
  get state(): LiveState | undefined {
    return this.#state;
  }

  /** The content of the token; undefined for a text that is no token. */
  get ticket(): Ticket | undefined {
    return this.#holder.ticket;
  }

  /** The participant token, which is replaced when it is renewed. */
  get token(): string {
    return this.#holder.token;
  }

  /** Replaces the token by a new one of the same participant and room. Any other token is ignored. */
  setToken(token: string): void {
    this.#holder.take(token);
  }

  /** Reads the show and connects. Errors become the event `closed`, or another attempt. */
  start(): void {
    void this.load();
    this.#connect();
    this.#stopWatching = watchSleep(() => void this.#wake());
    this.#poll = setInterval(() => this.#look(), pollMs);
  }

  /** Ends the connection and all timers. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#again);
    clearTimeout(this.#pricing);
    clearInterval(this.#poll);
    this.#stopWatching?.();
    this.#realtime?.close();
  }

  /** Sends a heart to all viewers. */
  heart(): void {
    this.#room?.sendHearts();
  }

  /** Places a bid in whole cents. After a network error the same call repeats the bid: it doesn't make a second one. */
  async bid(auctionId: string, amountCents: number, bidderName: string | null): Promise<void> {
    const auction = await this.bids.place(auctionId, amountCents, bidderName);
    const state = this.#state;
    if (state) this.#become({ ...state, show: { ...state.show, auctions: withAuction(state.show.auctions, auction) } });
  }

  /** Posts a message to the chat. A repeated call after a network error posts it once. */
  async say(body: string, name: string): Promise<void> {
    const authorId = this.ticket?.userId ?? '';
    const message = await this.#attempts.once(`say.${body}`, (key) => this.api.say(body, authorId, name, key));
    if (this.#state) this.#become({ ...this.#state, chat: withMessages(this.#state.chat, [message]) });
  }

  /** Reads the show and its newest messages. Calls during a request share it. */
  load(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#loading ??= this.#load(true).finally(() => (this.#loading = undefined));

    return this.#loading;
  }

  async #load(withChat: boolean): Promise<void> {
    try {
      const [show, chat] = await Promise.all([this.api.show(), withChat ? this.api.chat().catch(() => []) : []]);
      this.#loadedAt = this.clock.now();
      this.#backoff.reset();
      this.#loaded(show, chat);
    } catch (thrown) {
      const error = asApiError(thrown);
      if ([400, 401, 403, 404].includes(error.status)) return this.#end(error);
      this.#later(Math.max(this.#backoff.next(), error.retryAfter * 1000));
    }
  }

  #loaded(show: Show, chat: Parameters<typeof withMessages>[1]): void {
    if (this.#closed) return;
    const before = this.#state;
    let state: LiveState = { show, chat: withMessages(before?.chat ?? [], chat), connection: before?.connection ?? 'connecting' };
    // The answer may be a second old: publications that are newer are applied again.
    let older = false; // the answer is older than a publication that needs a newer one
    for (const publication of this.#recent.since(Date.parse(show.serverTime))) {
      const applied = apply(state, publication);
      state = applied.state;
      older ||= publication.type === 'products-updated' && applied.incomplete;
    }
    this.#become(state);
    if (older) this.#soon();
  }

  #connect(): void {
    const { id, realtimeUrl } = this.options;
    this.#realtime = new Realtime({ token: this.token, ...(realtimeUrl ? { url: realtimeUrl } : {}) });
    this.#realtime.on('disconnected', ({ code, reason }) => this.#refused(code, reason));
    this.#room = this.#realtime.room(id);
    this.#room.on('publication', (publication) => this.#take(publication));
    this.#room.on('subscribed', ({ recovered }) => {
      this.#connection('connected');
      if (!recovered) this.#soon();
    });
    this.#room.on('subscribing', () => this.#connection(this.#state?.connection === 'connected' ? 'reconnecting' : 'connecting'));
    this.#room.on('refused', ({ code, reason }) => this.#refused(code, reason));
  }

  /** The server refuses the token for the room; an answer of the API says it more precisely. */
  #refused(code: number, reason: string): void {
    if (this.#closed || this.#again !== undefined) return;
    console.info('realtime channel refused', code, reason);
    this.#connection('reconnecting');
    this.#again = setTimeout(() => this.#reconnect(), refusedMs * (1 + Math.random()));
    this.#holder.look();
    this.api.cart().catch((thrown: unknown) => this.#endIfRefused(thrown));
  }

  #reconnect(): void {
    clearTimeout(this.#again);
    this.#again = undefined;
    if (this.#closed) return;
    this.#realtime?.close();
    this.#connect();
  }

  #renewed(token: string): void {
    this.#unrenewed = 0;
    this.#realtime?.renew(token);
    if (this.#again !== undefined) this.#reconnect(); // the former token was refused
  }

  /** Ends the show if the server refuses the token. A page that can renew its token gets about a minute for that. */
  #endIfRefused(thrown: unknown): void {
    const error = asApiError(thrown);
    if (error.status === 401 && this.options.renewToken && ++this.#unrenewed < mostUnrenewed) return;
    if ([401, 403, 404].includes(error.status)) this.#end(error);
  }

  /** wake reads all that may have changed during sleep, and checks the connection and the token. */
  async #wake(): Promise<void> {
    this.clock.forget();
    void this.#realtime?.check();
    const before = this.#loadedAt;
    await this.load();
    // Without an answer the clock may be wrong, and the token look valid.
    if (this.#closed || this.#loadedAt === before) return;
    this.#holder.look();
    await this.cart.load().catch((thrown: unknown) => this.#endIfRefused(thrown));
  }

  #take(publication: Publication): void {
    this.#recent.add(publication);
    if (publication.type === 'heart') return this.emit('hearts', publication.data.count);
    if (!this.#state) return;
    const before = this.#state.show.auctions;
    const { state, incomplete } = apply(this.#state, publication);
    this.#become(state);
    if (publication.type === 'products-updated') this.#priceCart(publication.data.products.map(({ id }) => id));
    if (publication.type === 'auction-bid') this.#noteExtension(publication.data.auctionId, before);
    if (incomplete) this.#soon();
  }

  /** Reads the cart again if a changed product may be in it; an empty list stands for many products. */
  #priceCart(changed: readonly string[]): void {
    const affected = this.cart.view.items.some(({ productId }) => changed.length === 0 || changed.includes(productId));
    if (!affected || this.#pricing !== undefined) return;
    this.#pricing = setTimeout(() => {
      this.#pricing = undefined;
      if (!this.#closed) void this.cart.load().catch(() => undefined);
    }, this.#spread());
  }

  #noteExtension(auctionId: string, before: Show['auctions']): void {
    const end = (list: Show['auctions']): number => Date.parse(list.find((one) => one.id === auctionId)?.endsAt ?? '');
    const seconds = Math.round((end(this.#state?.show.auctions ?? []) - end(before)) / 1000);
    if (seconds > 0) this.emit('extended', { auctionId, seconds });
  }

  /** soon reads the show at a random time, so that thousands of viewers don't do it in the same second. */
  #soon(): void {
    this.#later(this.#spread());
  }

  /** A random time in milliseconds, longer for more viewers. */
  #spread(): number {
    return 250 + Math.random() * Math.min(mostSpreadMs, 750 + 2 * (this.#state?.show.viewerCount ?? 0));
  }

  #later(ms: number): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.load(), ms);
  }

  #look(): void {
    this.#holder.look();
    const { show, connection } = this.#state ?? {};
    const overdue = show?.auctions.some(({ status, endsAt }) => status === 'LIVE' && Date.parse(endsAt) < this.clock.now() - overdueMs);
    if ((connection !== 'connected' && document.visibilityState === 'visible') || overdue) this.#soon();
    // Publications may be lost without a gap that this client notices.
    if (this.#state && document.visibilityState === 'visible' && this.clock.now() > this.#loadedAt + refreshMs && !this.#loading) {
      this.#loading = this.#load(false).finally(() => (this.#loading = undefined));
    }
    if (show?.status === 'ENDED' && !show.replayId && this.#replayPolls < replayPolls) {
      this.#replayPolls++;
      this.#later(replayPollMs * (0.5 + Math.random()));
    }
  }

  #connection(connection: LiveState['connection']): void {
    if (this.#state && this.#state.connection !== connection) this.#become({ ...this.#state, connection });
    else if (!this.#state && connection === 'connected') void this.#loading?.then(() => this.#connection(connection));
  }

  #become(state: LiveState): void {
    this.#state = state;
    this.emit('change', state);
  }

  #end(error: ApiError): void {
    if (this.#closed) return;
    this.close();
    this.emit('closed', error);
  }
}
