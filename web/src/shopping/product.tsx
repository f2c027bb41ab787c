import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { ShowProduct } from '../gen/api.js';
import { useShop } from './shop.js';
import { canTake, mostUnits, stockOf, stockText } from './stock.js';
import { t } from './texts/index.js';
import { Picture, Price, Quantity, SheetFrame } from './ui.js';

/** The line that says how many units are left. */
export function StockLine({ product }: { product: ShowProduct }): VNode | null {
  const text = stockText(product);

  return text ? <span class={`stock ${stockOf(product)}`}>{text}</span> : null;
}

/** The card of the product that the host shows, over the video. */
export function PinnedCard({ product }: { product: ShowProduct }): VNode {
  const { open } = useShop();

  return (
    <section class="pinned glass" aria-label={t.shownNow} key={product.id}>
      <Picture url={product.imageUrl} alt="" kind="small" />
      <div class="pinned-text">
        <h2><bdi>{product.name}</bdi></h2>
        <p><Price cents={product.priceCents} before={product.compareAtCents} currency={product.currency} /> <StockLine product={product} /></p>
      </div>
      <button type="button" class={canTake(product) ? 'primary' : 'plain'} onClick={() => open({ kind: 'product', product })}>
        {canTake(product) ? t.buy : t.view}<span class="spoken">: {product.name}</span>
      </button>
    </section>
  );
}

/** The list of the show's products. With `lift` the one that is shown now comes first. */
export function Shelf({ products, pinned, lift = true }: { products: readonly ShowProduct[]; pinned: string | null; lift?: boolean }): VNode {
  const { open } = useShop();
  if (products.length === 0) return <p class="empty">{t.noProducts}</p>;
  const sorted = lift ? [...products].sort((a, b) => Number(b.id === pinned) - Number(a.id === pinned)) : products;

  return (
    <ul class="shelf">
      {sorted.map((product) => (
        <li key={product.id} class={product.id === pinned ? 'is-pinned' : undefined}>
          <button type="button" class="shelf-item" onClick={() => open({ kind: 'product', product })}>
            <Picture url={product.imageUrl} alt="" kind="medium" />
            <span class="shelf-text">
              {product.id === pinned ? <span class="now">{t.shownNow}</span> : null}
              <span class="shelf-name"><bdi>{product.name}</bdi></span>
              <Price cents={product.priceCents} before={product.compareAtCents} currency={product.currency} />
              <StockLine product={product} />
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The products in a dialog, on phones. */
export function ShelfSheet({ pinned, close }: { pinned: string | null; close: () => void }): VNode {
  const { products } = useShop();

  return <SheetFrame title={t.products} close={close}><Shelf products={products} pinned={pinned} /></SheetFrame>;
}

/** One product with its description, and buttons to buy it. */
export function ProductSheet({ product: opened, close }: { product: ShowProduct; close: () => void }): VNode {
  const shop = useShop();
  const product = shop.products.find(({ id }) => id === opened.id) ?? opened; // the current price and stock
  const [units, setUnits] = useState(1);
  const most = mostUnits(product);
  const chosen = Math.max(1, Math.min(units, most));
  useEffect(() => {
    // Only a number for the seller. A guest of a replay gets a token with the first change of the cart.
    if (shop.api.identified) void shop.api.click(product.id).catch(() => undefined);
  }, [product.id]);
  const take = (pay: boolean): void => {
    shop.take(product, chosen);
    if (!pay) shop.notify(`${t.added}: ${product.name}`);
    shop.open(pay ? { kind: 'cart' } : undefined);
  };
  const available = canTake(product) && shop.canBuy;

  return (
    <SheetFrame
      title={product.name} close={close}
      footer={available ? (
        <div class="product-buttons">
          <Quantity units={chosen} most={most} set={setUnits} label={t.quantity} />
          <button type="button" class="plain" onClick={() => take(false)}>{t.addToCart}</button>
          <button type="button" class="primary" onClick={() => take(true)}>{t.buyNow}</button>
        </div>
      ) : <p class="note">{shop.canBuy ? stockText(product) : t.cannotBuy}</p>}
    >
      <Picture url={product.imageUrl} alt={product.name} kind="large" />
      <p class="product-price">
        <Price cents={product.priceCents} before={product.compareAtCents} currency={product.currency} />
        <StockLine product={product} />
      </p>
      {product.description ? <p class="description"><bdi>{product.description}</bdi></p> : null}
    </SheetFrame>
  );
}
