import type { Replay, ReplayMessage, ShowProduct } from '../gen/api.js';
import { ApiError } from '../rooms/api.js';
import { Emitter } from '../rooms/emitter.js';
import { readTicket } from '../rooms/ticket.js';
import { ShopApi, type TokenSource } from './api.js';
import { Attempts } from './attempts.js';
import { Cart } from './cart.js';
import { Clock } from './clock.js';
import { type Memory, memoryOf } from './memory.js';
import { Orders } from './orders.js';
import { type RenewToken, Renewal } from './renewal.js';
import { asApiError } from './request.js';

/** The options of a ReplayShow. */
export interface ReplayOptions {
  /** The recording's id. */
  id: string;
  /** A participant token; without it a guest's token is requested at the first change of the cart. */
  token?: string | undefined;
  /** Gets a new token 10 minutes before the given one expires. A guest's token is renewed without it. */
  renewToken?: RenewToken | undefined;
  /** The API's base URL without a trailing slash; empty, the default, for the page's own server. */
  base?: string;
  /** Where the guest's token and keys are kept over a reload; sessionStorage by default. */
  memory?: Memory;
}

const guestSlot = 'guest';
const chatPage = 200; // of ShopApi.replayChat
const chatBehindSec = 120; // the time before the position of which messages are shown

/** A recorded show with its products at today's prices, and its chat. */
export class ReplayShow extends Emitter<{ change: Replay; closed: ApiError; chat: void }> {
  readonly clock = new Clock();
  readonly api: ShopApi;
  readonly cart: Cart;
  readonly orders: Orders;
  readonly #holder: Guest | Renewal;
  #replay: Replay | undefined;
  #messages: ReplayMessage[] = [];
  #from = 0; // the second from which messages are loaded
  #complete = false;
  #fetching = false;

  constructor(options: ReplayOptions) {
    super();
    const memory = options.memory ?? memoryOf(() => sessionStorage, `showfloor.${options.id}.`);
    this.#holder = options.token === undefined
      ? new Guest(memory, () => this.api.guestToken())
      : new Renewal(options.token, this.clock, options.renewToken);
    this.api = new ShopApi(options.id, this.#holder, this.clock, options.base);
    this.cart = new Cart(this.api);
    this.orders = new Orders(this.api, new Attempts(memory), memory, this.clock);
  }

  get replay(): Replay | undefined {
    return this.#replay;
  }

  /** Replaces the given token by a new one of the same participant and room. Any other token is ignored. */
  setToken(token: string): void {
    if (this.#holder instanceof Renewal) this.#holder.take(token);
  }

  /** Reads the replay. Call it again to refresh prices, stock and the playlist's URL, which expires. */
  async load(): Promise<void> {
    this.#holder.look();
    try {
      this.#replay = await this.api.replay();
      this.emit('change', this.#replay);
    } catch (thrown) {
      const error = asApiError(thrown);
      if (this.#replay && error.status === 0) throw error;
      this.emit('closed', error);
    }
  }

  /** The product that was shown at a second; undefined for none. */
  productAt(second: number): ShowProduct | undefined {
    const entry = this.#replay?.productTimeline.filter(({ ts }) => ts <= second + 0.05).at(-1);

    return this.#replay?.products.find(({ id }) => id === entry?.productId);
  }

  /** The messages of the last two minutes before a second, oldest first. Loads further ones if it must; `chat` follows. */
  chatAt(second: number): ReplayMessage[] {
    const last = this.#messages.at(-1)?.ts ?? this.#from;
    if (second < this.#from || second > last + 600) this.#restart(Math.max(0, second - chatBehindSec));
    else if (!this.#complete && second + 30 > last) void this.#fetch();

    return this.#messages.filter(({ ts }) => ts <= second && ts > second - chatBehindSec).slice(-100);
  }

  #restart(second: number): void {
    if (this.#fetching) return;
    if (this.#complete && second >= this.#from) return;
    this.#messages = [];
    this.#from = second;
    this.#complete = false;
    void this.#fetch();
  }

  async #fetch(): Promise<void> {
    if (this.#fetching || this.#complete) return;
    this.#fetching = true;
    try {
      const page = await this.api.replayChat(this.#messages.at(-1)?.id ?? String(this.#from));
      this.#messages = [...this.#messages, ...page].slice(-10 * chatPage);
      this.#complete = page.length < chatPage;
    } catch {
      this.#complete = true; // a replay without its chat
    } finally {
      this.#fetching = false;
    }
    this.emit('chat', undefined);
  }
}

/** The token of a replay's guest, which is requested when it is needed. */
class Guest implements TokenSource {
  readonly guest = true;
  #token: string | undefined;
  #obtaining: Promise<string> | undefined;

  constructor(
    private readonly memory: Memory,
    private readonly request: () => Promise<{ token: string }>,
  ) {
    const kept = memory.get<string>(guestSlot);
    if (kept !== undefined && isValid(kept)) this.#token = kept;
  }

  get token(): string | undefined {
    return this.#token;
  }

  /** A guest's token is renewed by obtain alone. */
  look(): void {}

  async obtain(): Promise<string> {
    if (this.#token !== undefined && isValid(this.#token)) return this.#token;
    this.#obtaining ??= this.request().then(({ token }) => {
      this.#token = token;
      this.memory.set(guestSlot, token);

      return token;
    }).finally(() => (this.#obtaining = undefined));

    return this.#obtaining;
  }
}

function isValid(token: string): boolean {
  return (readTicket(token)?.expiresAt.getTime() ?? 0) > Date.now() - 600_000; // the server decides; a device's clock may be wrong
}
