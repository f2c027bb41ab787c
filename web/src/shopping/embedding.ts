import type { ShowProduct } from '../gen/api.js';
import type { RenewToken } from '../shop/index.js';
import type { Address } from './address.js';
import { type FromFrame, type ParentMessage, type ProductData, type ToFrame, isMessage, version } from '../embed/protocol.js';

const helloMs = 250; // between two messages `ready`
const mostHellos = 60; // the shop may fetch a token first
const tokenMs = 15_000; // the longest wait for a new token

/** The page around this one, if a shop shows the page in a frame. */
export class Embedding {
  /** The content of the shop's `hello`. */
  readonly hello: ToFrame['hello'];
  #height = 0;
  #token: (token: string) => void = () => undefined;
  #answer: ((token: string | undefined) => void) | undefined; // set while a token is requested
  #returned: (result: 'success' | 'cancelled') => void = () => undefined;

  /** @param origin of the page around this one, to which alone messages are sent */
  constructor(
    private readonly origin: string,
    hello: ToFrame['hello'],
  ) {
    this.hello = hello;
    addEventListener('message', (event: MessageEvent<unknown>) => {
      if (event.origin === origin && isFromParent(event)) this.#take(event.data);
    });
    this.#size();
    addEventListener('resize', () => this.#size());
  }

  /** Whether the shop has its own cart, which takes over from the page's. */
  get ownCart(): boolean {
    return this.hello.cart === 'shop';
  }

  send<Type extends keyof FromFrame>(type: Type, data: FromFrame[Type]): void {
    parent.postMessage({ showfloor: version, type, data }, this.origin);
  }

  /** Asks the shop for a new participant token. Resolves to undefined if there is none within 15 s. */
  async renewToken(expiresAt: Date): Promise<string | undefined> {
    this.send('token.expiring', { expiresAt: expiresAt.toISOString() });

    return new Promise((done) => {
      const timer = setTimeout(() => this.#answer?.(undefined), tokenMs);
      this.#answer = (token) => {
        clearTimeout(timer);
        this.#answer = undefined;
        done(token);
      };
    });
  }

  /** Calls `act` with each token that the shop sends without a request. */
  onToken(act: (token: string) => void): void {
    this.#token = act;
  }

  /** Calls `act` when the payment window has returned to the shop's page. */
  onReturned(act: (result: 'success' | 'cancelled') => void): void {
    this.#returned = act;
  }

  #take({ type, data }: ParentMessage): void {
    if (type === 'token' && typeof data.token === 'string') {
      if (this.#answer) this.#answer(data.token);
      else this.#token(data.token);
    }
    if (type === 'returned') this.#returned(data.result === 'success' ? 'success' : 'cancelled');
  }

  /** size tells the shop a height for the frame's width: portrait on a phone; on a desk the video beside the panel. */
  #size(): void {
    const height = innerWidth < 900 ? Math.round(innerWidth * (16 / 9)) : Math.round(Math.max(560, (innerWidth - 380) * (9 / 16)));
    if (height === this.#height) return;
    this.#height = height;
    this.send('resize', { height });
  }
}

/** Returns the options of a show by which it gets new tokens from the shop; none if there is no shop around the page. */
export function renewal({ embedding }: Address): { renewToken?: RenewToken } {
  return embedding ? { renewToken: (expiresAt) => embedding.renewToken(expiresAt) } : {};
}

/** Returns a product as messages to the shop describe it. */
export function describe(product: ShowProduct): ProductData {
  const { id, externalId, name, priceCents, currency } = product;

  return { productId: id, externalId, name, priceCents, currency };
}

/**
 * Connects to the page around this one, if the address has `embed=1`. Which pages may be around it is decided by the server's
 * `frame-ancestors`. Resolves to undefined if the page is in no frame, or the page around it doesn't answer within 15 s.
 */
export async function connectParent(): Promise<Embedding | undefined> {
  if (parent === window || !new URLSearchParams(location.search).has('embed')) return undefined;

  return new Promise((done) => {
    let hellos = 0;
    const end = (embedding?: Embedding): void => {
      clearInterval(timer);
      removeEventListener('message', take);
      done(embedding);
    };
    const take = (event: MessageEvent<unknown>): void => {
      if (isFromParent(event) && event.data.type === 'hello') end(new Embedding(event.origin, event.data.data));
    };
    // To any origin: the message holds nothing, and the shop's origin isn't known yet.
    const ask = (): void => (hellos++ < mostHellos ? parent.postMessage({ showfloor: version, type: 'ready', data: {} }, '*') : end());
    addEventListener('message', take);
    const timer = setInterval(ask, helloMs);
    ask();
  });
}

function isFromParent(event: MessageEvent<unknown>): event is MessageEvent<ParentMessage> {
  return event.source === parent && isMessage(event.data);
}
