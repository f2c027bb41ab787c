import type { VNode } from 'preact';

import { BidSheet } from './auction.js';
import { CartSheet } from './cart.js';
import { OrderSheet } from './order.js';
import { ProductSheet, ShelfSheet } from './product.js';
import type { Sheet, Shop } from './shop.js';
import type { LiveShow } from '../shop/index.js';

/** The open dialog. */
export function OpenSheet({ sheet, shop, pinned, show }: { sheet: Sheet | undefined; shop: Shop; pinned: string | null; show?: LiveShow }): VNode | null {
  const close = (): void => shop.open(undefined);
  switch (sheet?.kind) {
    case 'shelf':
      return <ShelfSheet pinned={pinned} close={close} />;
    case 'product':
      return <ProductSheet key={sheet.product.id} product={sheet.product} close={close} />;
    case 'cart':
      return <CartSheet note={sheet.note} close={close} browse={() => shop.open(matchMedia('(min-width: 900px)').matches ? undefined : { kind: 'shelf' })} />;
    case 'order':
      return <OrderSheet key={sheet.orderId} orderId={sheet.orderId} returned={sheet.returned ?? false} close={close} />;
    case 'bid': {
      const auction = show?.state?.show.auctions.find(({ id }) => id === sheet.auctionId);

      return auction && show ? <BidSheet auction={auction} show={show} close={close} /> : null;
    }
    default:
      return null;
  }
}
