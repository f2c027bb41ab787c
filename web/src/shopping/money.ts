import { locale } from './texts/index.js';

// The payment processor's smallest units, https://docs.stripe.com/currencies#special-cases. Intl's decimals differ, and change with
// the browser's version.
const noDecimals = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '));
const threeDecimals = new Set('bhd jod kwd omr tnd'.split(' '));

/** digitsOf returns the number of decimals of a currency, such as 2 for usd and 0 for jpy. */
export function digitsOf(currency: string): number {
  return noDecimals.has(currency) ? 0 : threeDecimals.has(currency) ? 3 : 2;
}

const formats = new Map<string, Intl.NumberFormat>();

function formatOf(currency: string): Intl.NumberFormat {
  let format = formats.get(currency);
  if (!format) {
    const digits = { minimumFractionDigits: digitsOf(currency), maximumFractionDigits: digitsOf(currency) };
    try {
      format = new Intl.NumberFormat(locale, { style: 'currency', currency: currency.toUpperCase(), ...digits });
    } catch {
      format = new Intl.NumberFormat(locale, digits); // no currency that Intl knows
    }
    formats.set(currency, format);
  }

  return format;
}

/** Writes an amount in the currency's smallest unit, such as 1999 of usd as "$19.99". */
export function money(cents: number, currency: string): string {
  return formatOf(currency).format(cents / 10 ** digitsOf(currency));
}

const decimalMark = new Intl.NumberFormat(locale).formatToParts(1.1).find(({ type }) => type === 'decimal')?.value === ',' ? ',' : '.';

/**
 * Reads an amount that a buyer has typed into the smallest unit; undefined if it is no amount, or if it isn't clear which one. A
 * single mark before three digits is read as the buyer's language has it.
 */
export function parseMoney(text: string, currency: string): number | undefined {
  const digits = digitsOf(currency);
  const clean = text.replace(/[^\d.,]/g, '');
  const marks = clean.match(/[.,]/g) ?? [];
  const last = clean.search(/[.,]\d*$/);
  const decimals = last < 0 ? 0 : clean.length - last - 1;
  const isDecimal = last >= 0 && (decimals !== 3 || (clean[last] === decimalMark && marks.filter((mark) => mark === decimalMark).length === 1));
  const [whole, fraction] = isDecimal ? [clean.slice(0, last), clean.slice(last + 1)] : [clean, ''];
  if (!/^(\d{1,3}([.,]\d{3})*|\d+)$/.test(whole) || fraction.length > digits) return undefined;

  return Math.round(Number(`${whole.replace(/[.,]/g, '')}.${fraction || '0'}`) * 10 ** digits);
}

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 1, notation: 'compact' });

/** Writes a number of viewers, such as 1.2K. */
export function count(number: number): string {
  return whole.format(number);
}
