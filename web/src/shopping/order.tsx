import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { ShowOrder } from '../gen/api.js';
import { dateTime } from './dates.js';
import { Icon, type IconName } from './icons.js';
import { unmarked } from './isolate.js';
import { money } from './money.js';
import { preparePayment } from './pay.js';
import { useShop } from './shop.js';
import { t } from './texts/index.js';
import { SheetFrame } from './ui.js';

/** The state of an order after its payment page was opened, and its receipt once it is paid. */
export function OrderSheet({ orderId, returned, close }: { orderId: string; returned: boolean; close: () => void }): VNode {
  const { orders, cart, open, embedding } = useShop();
  const [order, setOrder] = useState<ShowOrder>();
  useEffect(() => orders.watch(orderId, (now) => {
    setOrder(now);
    if (now.status === 'PENDING') return;
    const isNews = orders.current === now.id; // and not a receipt that is opened again
    orders.current = undefined;
    if (isNews && isPaid(now) && !now.auctionId) void cart.bought(now.items);
  }), [orderId]);
  const status = order?.status;
  useEffect(() => {
    if (status) embedding?.send('order', { orderId, status });
  }, [status]);
  const state = stateOf(order, returned);
  const expired = order?.status === 'EXPIRED';

  return (
    <SheetFrame
      title={t.order} close={close}
      footer={(
        <div class="product-buttons">
          {order?.checkoutUrl && !returned ? <PayButton url={order.checkoutUrl} returns={!order.auctionId} text={t.openPayment} kind="primary" /> : null}
          {expired && !order.auctionId ? <button type="button" class="primary" onClick={() => open({ kind: 'cart' })}>{t.toCart}</button> : null}
          <button type="button" class="plain" onClick={close}>{t.keepWatching}</button>
        </div>
      )}
    >
      <div class={`order-state ${state.kind}`} role="status">
        <span class="order-mark"><Icon name={state.icon} /></span>
        <h3>{state.title}</h3>
        <p>{state.text}</p>
      </div>
      {order ? <Receipt order={order} /> : null}
    </SheetFrame>
  );
}

/** A button that opens a payment page whose address is known. */
export function PayButton({ url, returns, text, kind, then }: { url: string; returns: boolean; text: string; kind: string; then?: () => void }): VNode {
  const [blocked, setBlocked] = useState(false);
  if (blocked) return <a class={`button ${kind}`} href={url} target="_blank" rel="noopener noreferrer">{text}</a>;

  return (
    <button
      type="button" class={kind}
      onClick={() => {
        if (preparePayment(returns).go(url)) then?.();
        else setBlocked(true);
      }}
    >
      {text}
    </button>
  );
}

function isPaid({ status }: ShowOrder): boolean {
  return status === 'PAID' || status === 'FULFILLED';
}

function stateOf(order: ShowOrder | undefined, returned: boolean): { kind: string; icon: IconName; title: string; text: string } {
  switch (order?.status) {
    case 'PAID':
    case 'FULFILLED':
      return { kind: 'good', icon: 'check', title: t.paidTitle, text: t.paidText };
    case 'EXPIRED':
      return { kind: 'bad', icon: 'clock', title: t.expiredTitle, text: t.expiredText };
    case 'REVIEW':
      return { kind: 'waits', icon: 'clock', title: t.reviewTitle, text: t.reviewText };
    case 'REFUNDED':
    case 'PARTIALLY_REFUNDED':
      return { kind: 'waits', icon: 'check', title: t.refundedTitle, text: '' };
    default:
      return { kind: 'waits', icon: 'clock', title: t.waitingTitle, text: returned ? t.confirming : t.waitingText };
  }
}

function Receipt({ order }: { order: ShowOrder }): VNode {
  const { currency } = order;

  return (
    <section class="receipt">
      <ul class="receipt-lines">
        {order.items.map((item) => (
          <li key={item.productId}>
            <span>{item.quantity} × <bdi>{unmarked(item.nameSnapshot)}</bdi></span>
            <span>{money(item.priceCents * item.quantity, currency)}</span>
          </li>
        ))}
      </ul>
      <dl class="sums">
        {order.discountCents > 0 ? (
          <>
            <div><dt>{t.subtotal}</dt><dd>{money(order.subtotalCents, currency)}</dd></div>
            <div class="reduced"><dt>{t.discount} {order.discountCode ? <bdi>{order.discountCode}</bdi> : null}</dt><dd>−{money(order.discountCents, currency)}</dd></div>
          </>
        ) : null}
        <div class="total"><dt>{t.total}</dt><dd>{money(order.totalCents, currency)}</dd></div>
        {order.paidAt ? <div class="quiet"><dt>{t.paidAt}</dt><dd>{dateTime(order.paidAt)}</dd></div> : null}
        <div class="quiet"><dt>{t.orderId}</dt><dd class="order-id">{order.id}</dd></div>
      </dl>
    </section>
  );
}
