import type { VNode } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';

import type { ShowProduct } from '../gen/api.js';
import type { ApiError, Cart, Clock, Orders, ShopApi } from '../shop/index.js';
import { type Embedding, describe } from './embedding.js';
import { awaitReturn } from './pay.js';
import { explain } from './problems.js';
import type { Sheet, Shop } from './shop.js';
import { shareCart } from './tabs.js';
import { t } from './texts/index.js';

const shownMs = 4500;
const refusalShownMs = 10_000; // a refusal is longer, and the user has to do something
const quietMs = 3000; // between two announcements to screen readers

/** Messages that disappear after some seconds. */
export function useNotice(): { text: string; notify: (text: string, ms?: number) => void } {
  const [text, setText] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const notify = useCallback((said: string, ms = shownMs) => {
    setText(said);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setText(''), ms);
  }, []);

  return { text, notify };
}

/** Announces changes to screen readers, at most one in 3 seconds: the newest wins. */
export function Announcer({ text }: { text: string }): VNode {
  const [said, say] = useState('');
  const last = useRef(0);
  useEffect(() => {
    if (!text) return undefined;
    const timer = setTimeout(() => {
      last.current = Date.now();
      say(text);
    }, Math.max(0, last.current + quietMs - Date.now()));

    return () => clearTimeout(timer);
  }, [text]);

  return <p class="spoken" aria-live="polite">{said}</p>;
}

/** Returns a text about the newest change of products and pins, for the Announcer. */
export function useNews(products: readonly ShowProduct[] | undefined, pinnedId: string | null): string {
  const before = useRef<{ products: readonly ShowProduct[]; pinnedId: string | null } | undefined>(undefined);
  const news = useRef('');
  if (products && before.current && (before.current.products !== products || before.current.pinnedId !== pinnedId)) {
    const pinned = products.find(({ id }) => id === pinnedId);
    if (pinned && pinnedId !== before.current.pinnedId) news.current = t.nowShowing(pinned.name);
    else if (pinned) {
      const former = before.current.products.find(({ id }) => id === pinnedId);
      if (former && former.remaining !== pinned.remaining) {
        if (pinned.remaining === 0) news.current = t.soldOutNow(pinned.name);
        else if (pinned.remaining > 0 && pinned.remaining <= 5) news.current = t.leftNow(pinned.name, pinned.remaining);
      }
    }
  }
  if (products) before.current = { products, pinnedId };

  return news.current;
}

/** The parts of a LiveShow or ReplayShow with which viewers buy. */
interface Seller {
  api: ShopApi;
  cart: Cart;
  orders: Orders;
  clock: Clock;
}

/** Makes what the parts of the page share, with the open dialog and the current message. */
export function useShopState(seller: Seller, more: {
  id: string; name: string | undefined; canBuy: boolean; products: readonly ShowProduct[]; returned: 'success' | 'cancelled' | undefined;
  embedding: Embedding | undefined;
}): { shop: Shop; sheet: Sheet | undefined } {
  const { embedding } = more;
  const [sheet, setSheet] = useState<Sheet>();
  const open = useCallback((next: Sheet | undefined): void => {
    if (next?.kind === 'product') embedding?.send('product.click', describe(next.product));
    if (next?.kind !== 'cart' || !embedding?.ownCart) return setSheet(next);
    embedding.send('checkout', { orderId: null });
    setSheet(undefined);
  }, []);
  const { text: notice, notify } = useNotice();
  const refuse = useCallback((error: ApiError) => notify(explain(error), refusalShownMs), []);
  useEffect(() => seller.cart.on('refused', refuse), [seller]);
  useEffect(() => shareCart(more.id, seller.cart, () => seller.api.identified && !embedding?.ownCart), [seller]);
  useEffect(() => {
    const show = (returned: boolean): void => void lastOrder(seller.orders, seller.api).then((orderId) => orderId && open({ kind: 'order', orderId, returned }));
    if (more.returned === 'success') show(true);
    if (more.returned === 'cancelled') open({ kind: 'cart', note: t.cancelled });
    // The buyer may have paid and come back on another way.
    const { current } = seller.orders;
    const stop = current && !more.returned
      ? seller.orders.watch(current, ({ status }) => (status === 'PENDING' ? undefined : status === 'EXPIRED' ? (seller.orders.current = undefined) : open({ kind: 'order', orderId: current })))
      : undefined;
    const end = awaitReturn(more.id, () => seller.orders.look());
    embedding?.onReturned((result) => {
      seller.orders.look();
      if (result === 'cancelled') open({ kind: 'cart', note: t.cancelled });
    });

    return () => {
      stop?.();
      end();
    };
  }, [seller]);
  const { id, name, canBuy, products } = more;
  const shop = useMemo<Shop>(() => ({
    id, name, canBuy, products, api: seller.api, cart: seller.cart, orders: seller.orders, clock: seller.clock, open, notice, notify, refuse,
    embedding,
    take: (product, units) => {
      if (!embedding?.ownCart) seller.cart.add(product, units);
      embedding?.send('cart.add', { ...describe(product), quantity: units });
    },
    applyCode: (code) => {
      if (embedding?.ownCart) embedding.send('cart.code', { code });
      else seller.cart.setCode(code);
    },
  }), [seller, id, name, canBuy, products, notice]);

  return { shop, sheet };
}

/** Returns the order that the buyer has just paid: the remembered one, or his newest one of the last hour. */
async function lastOrder(orders: Orders, api: ShopApi): Promise<string | undefined> {
  if (orders.current) return orders.current;
  const [newest] = await api.orders().catch(() => []);
  if (newest && (newest.status === 'PENDING' || newest.paidAt)) orders.current = newest.id;

  return newest?.id;
}
