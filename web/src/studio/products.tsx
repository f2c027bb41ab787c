import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

import type { ShowProduct } from '../gen/api.js';
import { Picture, Price } from '../shopping/ui.js';
import { useAct } from './act.js';
import { AuctionSheet } from './auctions.js';
import { useStudio } from './studio.js';
import { s } from './texts/index.js';

/** The show's products, with their stock and the button that shows one to all viewers. */
export function Products(): VNode {
  const { show } = useStudio();
  const [auctioned, auction] = useState<ShowProduct>();
  const { products, pinnedProductId } = show.state!.show;

  return (
    <>
      {products.length === 0 ? <p class="empty">{s.noProducts}</p> : null}
      <ul class="studio-list">
        {products.map((product) => <Row key={product.id} product={product} pinned={product.id === pinnedProductId} auction={() => auction(product)} />)}
      </ul>
      {auctioned ? <AuctionSheet product={auctioned} close={() => auction(undefined)} /> : null}
    </>
  );
}

function Row({ product, pinned, auction }: { product: ShowProduct; pinned: boolean; auction: () => void }): VNode {
  const { host, hosts, show } = useStudio();
  const { busy, act } = useAct();
  const pin = (): void => void act(async () => {
    await host.pin(pinned ? null : product.id);
    await show.load();
  });
  const { remaining, low } = product;

  return (
    <li class={pinned ? 'pinned-row' : undefined}>
      <Picture url={product.imageUrl} alt="" kind="small" />
      <div class="studio-text">
        {pinned ? <span class="now">{s.shownNow}</span> : null}
        <h3><bdi>{product.name}</bdi></h3>
        <p><Price cents={product.priceCents} before={product.compareAtCents} currency={product.currency} /></p>
        <p class={remaining === 0 ? 'stock sold-out' : low ? 'stock low' : 'stock'}>{remaining < 0 ? s.uncounted : s.units(remaining)}</p>
      </div>
      {hosts ? (
        <div class="studio-row-buttons">
          <button type="button" class={pinned ? '' : 'primary'} aria-pressed={pinned} disabled={busy} onClick={pin}>
            {pinned ? s.unpin : s.pin}<span class="spoken">: {product.name}</span>
          </button>
          <button type="button" disabled={remaining === 0} onClick={auction}>{s.auctionIt}<span class="spoken">: {product.name}</span></button>
        </div>
      ) : null}
    </li>
  );
}
