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

// The processor charges these currencies only in multiples of so many smallest units (same page, "Special cases").
const step = (currency: string): number => (threeDecimals.has(currency) ? 10 : currency === 'isk' || currency === 'ugx' ? 100 : 1);

/**
 * Reads an amount that a buyer has typed into the smallest unit; undefined if it is no amount, if it isn't clear which one, or if the
 * processor can't charge it. A single mark before three digits is read as the buyer's language has it.
 */
export function parseMoney(text: string, currency: string): number | undefined {
  const digits = digitsOf(currency);
  const [, before, typed, after] = /^(\D*)(\d.*?)(\D*)$/s.exec(text.trim()) ?? [];
  // Around the number may be the currency, such as "kr. 5" and "5,-". A minus or a mark without a digit before it makes another amount.
  if (before === undefined || typed === undefined || /[-−–]|(^|\P{L})[.,]$/u.test(before) || /\p{N}/u.test(`${before}${after}`)) return undefined;
  if (/^\s*(k|m|mio|mrd|tsd|tausend)\b/i.test(after ?? '')) return undefined; // "5k" isn't 5
  const clean = typed.replace(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, ''); // marks of groups in some languages
  const marks = clean.match(/[.,]/g) ?? [];
  const last = clean.search(/[.,]\d*$/);
  const decimals = last < 0 ? 0 : clean.length - last - 1;
  const isDecimal = last >= 0 && (decimals !== 3 || (clean[last] === decimalMark && marks.filter((mark) => mark === decimalMark).length === 1));
  const [whole, fraction] = isDecimal ? [clean.slice(0, last), clean.slice(last + 1)] : [clean, ''];
  // "25,00" of a currency without decimals is 25; "1,000" may be 1 or 1000.
  const precise = fraction.length <= digits || /^0{1,2}$/.test(fraction);
  // All groups have one mark, and the decimals another.
  if (!/^(\d{1,3}(?:([.,])\d{3}(?:\2\d{3})*)?|\d+)$/.test(whole) || (isDecimal && whole.includes(clean[last] ?? ''))) return undefined;
  if (!/^\d*$/.test(fraction) || !precise) return undefined;
  const amount = Math.round(Number(`${whole.replace(/[.,]/g, '')}.${fraction || '0'}`) * 10 ** digits);

  return amount % step(currency) === 0 ? amount : undefined;
}

/** An amount as it can be typed, such as "€25.00", for hints. */
export function exampleAmount(currency: string): string {
  return money(25 * 10 ** digitsOf(currency), currency);
}

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 1, notation: 'compact' });

/** Writes a number of viewers, such as 1.2K. */
export function count(number: number): string {
  return whole.format(number);
}
