import type { Cart } from '../shop/index.js';

/**
 * Shows changes of the cart that the buyer makes in another tab of this browser with the same show.
 *
 * @param readable whether the cart can be read now without a new token
 * @returns a function that stops it
 */
export function shareCart(id: string, cart: Cart, readable: () => boolean): () => void {
  let tabs: BroadcastChannel;
  try {
    tabs = new BroadcastChannel(`showfloor.cart.${id}`);
  } catch {
    return () => undefined; // not allowed in this frame: the cart is read again when it is opened
  }
  tabs.onmessage = () => {
    if (readable()) void cart.load().catch(() => undefined);
  };
  const off = cart.on('stored', () => tabs.postMessage('stored'));

  return () => {
    off();
    tabs.close();
  };
}
