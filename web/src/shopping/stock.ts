import type { ShowProduct } from '../gen/api.js';
import { t } from './texts/index.js';

const few = 5; // units that are shown as "only 5 left" even if the product has no limit of its own

/** Whether a product can be bought. */
export type Stock = 'gone' | 'sold-out' | 'low' | 'fine';

export function stockOf({ active, remaining, low }: ShowProduct): Stock {
  if (!active) return 'gone';
  if (remaining === 0) return 'sold-out';

  return remaining > 0 && (low || remaining <= few) ? 'low' : 'fine';
}

/** Says what can be bought; empty if there is enough. */
export function stockText(product: ShowProduct): string {
  switch (stockOf(product)) {
    case 'gone':
      return t.gone;
    case 'sold-out':
      return t.soldOut;
    case 'low':
      return t.left(product.remaining);
    case 'fine':
      return '';
  }
}

/** Whether units of the product can be put into the cart. */
export function canTake(product: ShowProduct): boolean {
  return ['low', 'fine'].includes(stockOf(product));
}

/** The largest number of units that a buyer can choose. */
export function mostUnits({ remaining }: ShowProduct): number {
  return remaining < 0 ? 99 : Math.min(99, remaining);
}
