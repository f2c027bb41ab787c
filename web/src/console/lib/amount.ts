import { digitsOf, unitsOf } from './format.js';
import { currentLanguage } from './i18n.js';

// Reads an amount as people type it, such as 19.99 or 19,99, and returns cents; null if it is none. Cents are the smallest unit of the
// currency: 500 in jpy are 500 yen, and 500.5 yen are no amount.
export function parseCents(text: string, currency: string): number | null {
  const digits = digitsOf(currency);
  const [, whole, decimals = ''] = /^(\d{1,9})(?:[.,](\d{1,3}))?$/.exec(text.trim()) ?? [];
  return whole === undefined || decimals.length > digits ? null : Number(whole + decimals.padEnd(digits, '0'));
}

// Cents as a text that a field has and parseCents reads.
export function centsText(cents: number | null | undefined, currency: string): string {
  if (cents == null) return '';
  const text = unitsOf(cents, currency).toFixed(digitsOf(currency));
  return currentLanguage() === 'de' ? text.replace('.', ',') : text;
}

// An amount of a currency, for the message about one that can't be read.
export const exampleAmount = (currency: string) => ({ example: centsText(1999, currency) });

// Reads a whole number from 0; null if it is none.
export function parseWhole(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}

// Reads a stock: a whole number, or -1 for one that is not counted; null if it is neither.
export function parseStock(text: string): number | null {
  return text.trim() === '-1' ? -1 : parseWhole(text);
}

// A key that makes repeated requests of one act count once.
export function newActionKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
