import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

import type { ApiError, Cart, Clock, Orders, ShopApi } from '../shop/index.js';
import type { ShowProduct } from '../gen/api.js';
import type { Embedding } from './embedding.js';

/** The dialogs of the page; one is open at a time. */
export type Sheet =
  | { kind: 'shelf' }
  | { kind: 'product'; product: ShowProduct }
  | { kind: 'cart'; note?: string }
  | { kind: 'order'; orderId: string; returned?: boolean }
  | { kind: 'bid'; auctionId: string };

/** Values and functions that the parts of the page share, live and in a replay. */
export interface Shop {
  id: string;
  api: ShopApi;
  cart: Cart;
  orders: Orders;
  clock: Clock;
  /** The buyer's name in the token; undefined if it has none. */
  name: string | undefined;
  canBuy: boolean;
  products: readonly ShowProduct[];
  open: (sheet: Sheet | undefined) => void;
  /** The message that is shown now; empty for none. */
  notice: string;
  /** Shows a message for some seconds; screen readers read it. */
  notify: (text: string) => void;
  /** The shop's page around this one; undefined if there is none. */
  embedding: Embedding | undefined;
  /** Puts units into the cart: the page's, or the shop's own one. */
  take: (product: ShowProduct, units: number) => void;
  /** Uses a discount code for the cart. */
  applyCode: (code: string) => void;
  /** Shows why the server has refused something. */
  refuse: (error: ApiError) => void;
}

export const ShopContext = createContext<Shop | undefined>(undefined);

/** Returns the shared values and functions. */
export function useShop(): Shop {
  const shop = useContext(ShopContext);
  if (!shop) throw new Error('no shop');

  return shop;
}
