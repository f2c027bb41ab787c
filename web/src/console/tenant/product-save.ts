import type { Product, ProductInput } from '../../gen/api.js';
import { client, unwrap, type Problem } from '../lib/api.js';

const currencyChanged: Problem = { type: 'about:blank', title: '', status: 409, code: 'currency_changed', message: '', requestId: '' };

// The last save of each product.
const running = new Map<string, Promise<unknown>>();

// Changes fields of a product. The API also wants its name and price: they are read right before, since another user or a save that runs
// may have changed them. Saves of one product follow each other.
// A price is refused if the product's currency isn't the one in which it was typed.
export function saveFields({ id, currency: typedIn }: Pick<Product, 'id' | 'currency'>, fields: Partial<ProductInput>): Promise<Product> {
  const before = running.get(id) ?? Promise.resolve();
  const saving = before.catch(() => undefined).then(async () => {
    const { externalId, name, priceCents, currency } = await unwrap(client.GET('/v1/me/catalog/products/{id}', { params: { path: { id } } }));
    if (currency !== typedIn && 'priceCents' in fields && !fields.currency) throw currencyChanged;
    return unwrap(client.POST('/v1/me/catalog/products', { body: { externalId, name, priceCents, ...fields } }));
  });
  running.set(id, saving);
  const forget = () => { if (running.get(id) === saving) running.delete(id); };
  saving.then(forget, forget);
  return saving;
}
