import type { ShowCart, ShowCartInput, ShowCartLine, ShowProduct } from '../gen/api.js';
import type { ApiError } from '../rooms/api.js';
import { Emitter } from '../rooms/emitter.js';
import type { ShopApi } from './api.js';
import { asApiError } from './request.js';

/** A cart as the page shows it. */
export interface CartView extends ShowCart {
  /** Whether changes are not stored yet: then the sums are estimates without the discount. */
  saving: boolean;
}

/** The events of a Cart. */
export interface CartEvents {
  change: CartView;
  /** Changes were stored on the server. */
  stored: ShowCart;
  /** The server refused a change: the cart is again as it was stored. */
  refused: ApiError;
}

const quietMs = 300; // after the last change, before the cart is stored
const retryMs = 1500;
const mostTries = 3;
const mostUnits = 10_000;
const empty: ShowCart = {
  items: [], currency: null, subtotalCents: 0, discountCents: 0, totalCents: 0, discountCode: null, discountRefusal: null, updatedAt: null,
};

/**
 * The buyer's cart, which the server keeps. Changes are shown at once and stored 300 ms after the last one; if the server
 * refuses them, the cart is as before.
 */
export class Cart extends Emitter<CartEvents> {
  #stored: ShowCart = empty;
  #wanted: ShowCartInput | undefined; // set while a change is not stored
  #known = new Map<string, ShowProduct>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #saving: Promise<void> | undefined;
  #version = 0; // counts the answers that replace #stored

  /** @param quiet milliseconds without a change before the cart is stored; 300 by default */
  constructor(
    private readonly api: Pick<ShopApi, 'cart' | 'storeCart'>,
    private readonly quiet = quietMs,
  ) {
    super();
  }

  /** The cart with the changes that are not stored yet. */
  get view(): CartView {
    return this.#wanted ? estimate(this.#wanted, this.#stored, this.#known) : { ...this.#stored, saving: false };
  }

  /** The number of units in the cart. */
  get units(): number {
    return this.view.items.reduce((sum, line) => sum + line.quantity, 0);
  }

  /** Reads the cart. Changes that are not stored yet stay. */
  async load(): Promise<void> {
    await this.#saving;
    const version = ++this.#version;
    const cart = await this.api.cart();
    if (version !== this.#version) return; // a later answer is newer
    this.#stored = cart;
    this.emit('change', this.view);
  }

  /** Adds units of a product. */
  add(product: ShowProduct, units = 1): void {
    this.#known.set(product.id, product);
    const line = this.view.items.find((one) => one.productId === product.id);
    this.set(product.id, (line?.quantity ?? 0) + units);
  }

  /** Sets the number of units of a product that was added before; 0 removes it. */
  set(productId: string, units: number): void {
    const { items, discountCode } = this.#input();
    const quantity = Math.min(mostUnits, units);
    const isNew = !items.some((item) => item.productId === productId);
    const changed = isNew ? [...items, { productId, quantity }] : items.map((item) => (item.productId === productId ? { productId, quantity } : item));
    this.#want({ items: changed.filter((item) => item.quantity > 0), discountCode: discountCode ?? null });
  }

  /** Sets the discount code; null removes it. */
  setCode(code: string | null): void {
    this.#want({ items: this.#input().items, discountCode: code });
  }

  /** Takes the units of a paid order out of the cart, and the discount code out of a cart that is empty then. */
  async bought(items: readonly { productId: string; quantity: number }[]): Promise<void> {
    await this.load().catch(() => undefined);
    const { items: before, discountCode } = this.#input();
    const paid = new Map(items.map(({ productId, quantity }) => [productId, quantity]));
    const rest = before.map(({ productId, quantity }) => ({ productId, quantity: quantity - (paid.get(productId) ?? 0) })).filter(({ quantity }) => quantity > 0);
    this.#want({ items: rest, discountCode: rest.length > 0 ? (discountCode ?? null) : null });
    await this.flush();
  }

  /** Stores the changes now. Resolves when they are stored or refused. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#wanted) {
      this.#saving ??= this.#save(this.#wanted).finally(() => (this.#saving = undefined));
      await this.#saving;
    }
  }

  #input(): ShowCartInput {
    const { items, discountCode } = this.#wanted ?? this.#stored;

    return { items: items.map(({ productId, quantity }) => ({ productId, quantity })), discountCode: discountCode ?? null };
  }

  #want(cart: ShowCartInput): void {
    for (const { product } of this.#stored.items) this.#known.set(product.id, product);
    this.#wanted = cart;
    this.emit('change', this.view);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.flush(), this.quiet);
  }

  async #save(wanted: ShowCartInput, tries = 1): Promise<void> {
    try {
      this.#version++;
      this.#stored = await this.api.storeCart(wanted);
      if (this.#wanted === wanted) this.#wanted = undefined; // otherwise there is a newer change, which is stored next
      this.emit('change', this.view);
      this.emit('stored', this.#stored);
    } catch (thrown) {
      const error = asApiError(thrown);
      const passing = error.code === 'network' || error.status === 429 || error.status >= 500;
      if (passing && tries < mostTries) {
        await new Promise((done) => setTimeout(done, Math.max(retryMs * tries, error.retryAfter * 1000)));

        return this.#save(this.#wanted ?? wanted, tries + 1);
      }
      this.#wanted = undefined;
      this.emit('change', this.view);
      this.emit('refused', error);
    }
  }
}

function estimate(wanted: ShowCartInput, stored: ShowCart, known: ReadonlyMap<string, ShowProduct>): CartView {
  const items = wanted.items.flatMap(({ productId, quantity }): ShowCartLine[] => {
    const product = known.get(productId);
    if (!product) return [];
    const before = stored.items.find((line) => line.productId === productId);
    const problem = before?.quantity === quantity ? before.problem : null;

    return [{ productId, quantity, product, lineCents: problem ? 0 : product.priceCents * quantity, problem }];
  });
  const subtotalCents = items.reduce((sum, line) => sum + line.lineCents, 0);

  return {
    items, currency: items[0]?.product.currency ?? null, subtotalCents, discountCents: 0, totalCents: subtotalCents,
    discountCode: wanted.discountCode ?? null, discountRefusal: null, updatedAt: stored.updatedAt, saving: true,
  };
}
