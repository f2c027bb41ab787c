import { memoryOf } from '../shop/index.js';

/** What the buyer has entered once; it stays on his device. */
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
