// The messages between a hosted page in a frame and the page around it. docs/shopping.md describes them for pages that don't use embed.js.

/** The version of the messages: the value of `showfloor` in each. A change that isn't an addition gets another number. */
export const version = 1;

/** A product in a message. `externalId` is the shop's own SKU. */
export interface ProductData {
  productId: string;
  externalId: string;
  name: string;
  priceCents: number;
  currency: string;
}

/** The data of the messages from the frame, by type. */
export interface FromFrame {
  /** The frame waits for `hello`. It is repeated until that arrives. */
  ready: Record<string, never>;
  /** The height in CSS pixels that suits the frame's width. */
  resize: { height: number };
  /** The viewer has opened a product. */
  'product.click': ProductData;
  /** The viewer has put units into the cart. With the shop's own cart the page itself keeps none. */
  'cart.add': ProductData & { quantity: number };
  /** The viewer uses a discount code that the host has dropped; only with the shop's own cart. */
  'cart.code': { code: string };
  /** The viewer wants to pay. `orderId` is null with the shop's own cart, which then takes over. */
  checkout: { orderId: string | null };
  /** The state of the viewer's order. */
  order: { orderId: string; status: string };
  /** The participant token expires. The answer is `token`. */
  'token.expiring': { expiresAt: string };
  /** The page can't show the show any more, for example because the token has expired. */
  closed: { code: string };
}

/** The data of the messages to the frame, by type. */
export interface ToFrame {
  /** Answers `ready`. All fields are optional. */
  hello: {
    /** A participant token, for a page without one in its address. */
    token?: string | undefined;
    /** `shop`: the shop's own cart; `page`, the default: the page's cart. */
    cart?: 'page' | 'shop' | undefined;
    /** Where the payment window goes after payment. */
    returnUrl?: string | undefined;
    /** How the viewer has just returned from the payment page. */
    returned?: 'success' | 'cancelled' | undefined;
  };
  /** A new participant token for the same viewer. */
  token: { token: string };
  /** The payment window has returned to the shop's page. */
  returned: { result: 'success' | 'cancelled' };
}

/** A message of either direction. */
export interface Message<Type, Data> {
  showfloor: number;
  type: Type;
  data: Data;
}

/** A message from the frame. */
export type FrameMessage = { [Type in keyof FromFrame]: Message<Type, FromFrame[Type]> }[keyof FromFrame];

/** A message to the frame. */
export type ParentMessage = { [Type in keyof ToFrame]: Message<Type, ToFrame[Type]> }[keyof ToFrame];

/** Whether a message's data is one of this version. Its content is not checked. */
export function isMessage(data: unknown): data is Message<string, unknown> {
  return isObject(data) && 'showfloor' in data && data.showfloor === version && 'type' in data && 'data' in data && isObject(data.data);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
