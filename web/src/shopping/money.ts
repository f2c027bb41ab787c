import { locale } from './texts/index.js';

/** digitsOf returns the number of decimals of a currency, such as 2 for usd and 0 for jpy. */
export function digitsOf(currency: string): number {
  return formatOf(currency).resolvedOptions().maximumFractionDigits ?? 2;
}

const formats = new Map<string, Intl.NumberFormat>();

function formatOf(currency: string): Intl.NumberFormat {
  let format = formats.get(currency);
  if (!format) {
    try {
      format = new Intl.NumberFormat(locale, { style: 'currency', currency: currency.toUpperCase() });
    } catch {
      format = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 }); // no currency that Intl knows
    }
    formats.set(currency, format);
  }

  return format;
}

/** Writes an amount in the currency's smallest unit, such as 1999 of usd as "$19.99". */
export function money(cents: number, currency: string): string {
  return formatOf(currency).format(cents / 10 ** digitsOf(currency));
}

/** Reads an amount that a buyer has typed, with a point or a comma, into the smallest unit; undefined if it is no amount. */
export function parseMoney(text: string, currency: string): number | undefined {
  const clean = text.replace(/[^\d.,]/g, '');
  const match = /^(\d{1,3}(?:[.,]\d{3})+|\d+)(?:[.,](\d{0,3}))?$/.exec(clean);
  const digits = digitsOf(currency);
  if (!match?.[1] || (match[2]?.length ?? 0) > digits) return undefined;

  return Math.round(Number(`${match[1].replace(/[.,]/g, '')}.${match[2] || '0'}`) * 10 ** digits);
}

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 1, notation: 'compact' });

/** Writes a number of viewers, such as 1.2K. */
export function count(number: number): string {
  return whole.format(number);
}
