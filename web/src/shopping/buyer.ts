import { memoryOf } from '../shop/index.js';

/** The buyer's entries of the last checkout, which stay on his device. */
export interface Buyer {
  email: string;
  name: string;
}

const memory = memoryOf(() => localStorage);

export function buyer(): Buyer {
  return { email: '', name: '', ...memory.get<Partial<Buyer>>('buyer') };
}

export function rememberBuyer(change: Partial<Buyer>): void {
  memory.set('buyer', { ...buyer(), ...change });
}
