import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { ShowSale } from '../gen/api.js';
import { unmarked } from '../shopping/isolate.js';
import { locale } from '../shopping/texts/index.js';
import { money } from '../shopping/money.js';
import { useStudio } from './studio.js';
import { s } from './texts/index.js';

const everyMs = 5000;
const paid = new Set<ShowSale['status']>(['PAID', 'FULFILLED', 'PARTIALLY_REFUNDED', 'REFUNDED']);
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });

/** Reads the sales every few seconds, and soon after the stock of a product has changed. */
function useSales(): readonly ShowSale[] | undefined {
  const { host, show } = useStudio();
  const [sales, setSales] = useState<readonly ShowSale[]>();
  const stock = show.state?.show.products.map(({ remaining }) => remaining).join();
  useEffect(() => {
    const read = (): void => {
      if (document.visibilityState === 'visible') void host.sales().then(setSales, () => undefined); // the next one may work
    };
    const soon = setTimeout(read, sales === undefined ? 0 : 1000);
    const timer = setInterval(read, everyMs);

    return () => {
      clearTimeout(soon);
      clearInterval(timer);
    };
  }, [stock]);

  return sales;
}

/** The orders of the show, with the sum of the paid ones. */
export function Sales(): VNode {
  const sales = useSales();
  if (!sales || sales.length === 0) return <p class="empty">{sales ? s.noSales : '…'}</p>;
  const done = sales.filter(({ status }) => paid.has(status));
  const sums = new Map<string, number>();
  for (const { currency, totalCents } of done) sums.set(currency, (sums.get(currency) ?? 0) + totalCents);

  return (
    <>
      <p class="sales-sum">
        <strong>{[...sums].map(([currency, cents]) => money(cents, currency)).join(' + ') || '–'}</strong> {s.paidTotal(done.length)}
      </p>
      <ul class="studio-list">
        {sales.map(({ orderId, status, buyerName, items, totalCents, currency, createdAt }) => (
          <li key={orderId}>
            <div class="studio-text">
              <h3><bdi>{buyerName ?? s.someone}</bdi></h3>
              <p>{items.map(({ nameSnapshot, quantity }, index) => <>{index > 0 ? ', ' : ''}{quantity} × <bdi>{unmarked(nameSnapshot)}</bdi></>)}</p>
              <p class={paid.has(status) ? 'sale-state good' : 'sale-state'}>{s.orderStates[status]} · {clock.format(new Date(createdAt))}</p>
            </div>
            <strong>{money(totalCents, currency)}</strong>
          </li>
        ))}
      </ul>
    </>
  );
}
