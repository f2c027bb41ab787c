import type { UsageMeter } from '../../gen/api.js';
import { currentLanguage } from './i18n.js';

const locale = () => (currentLanguage() === 'de' ? 'de-DE' : 'en-GB');

export const number = (n: number | null | undefined) => (n == null ? '–' : new Intl.NumberFormat(locale()).format(n));

// A share of 1, such as 0.25, in percent.
export const percent = (share: number) => new Intl.NumberFormat(locale(), { style: 'percent', maximumFractionDigits: 1 }).format(share);

export const time = (at: string | null | undefined) => (
  at ? new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(at)) : '–'
);

// A time with its seconds, for events that follow each other quickly.
export const exactTime = (at: string) => (
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at))
);

export const date = (at: string | null | undefined) => (
  at ? new Intl.DateTimeFormat(locale(), { dateStyle: 'medium' }).format(new Date(at)) : '–'
);

// The date of a day of the server's: those begin at midnight UTC.
export const utcDate = (at: string | null | undefined) => (
  at ? new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(at)) : '–'
);

const dayS = 86_400;

// The label of a time on a graph's axis: the time of day for a span of up to two days, else the date. Both arguments are in seconds.
// Days of the server's are labelled in UTC.
export const tickTime = (at: number, span: number, utcDays = false) => {
  const clock: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', ...(span < 600 && { second: '2-digit' }) };
  const day: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', ...(utcDays && { timeZone: 'UTC' }) };
  return new Intl.DateTimeFormat(locale(), utcDays || span > 2 * dayS ? day : clock).format(new Date(at * 1000));
};

// Decimals of the payment processor's amounts, https://docs.stripe.com/currencies#special-cases, as in the server's
// internal/commerce/sandbox/pages_checkout.go. Intl's decimals differ for some currencies.
const noDecimals = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ');
const threeDecimals = 'bhd jod kwd omr tnd'.split(' ');

// The number of decimals of a currency, such as 2 for usd and 0 for jpy.
export function digitsOf(currency: string): number {
  const code = currency.toLowerCase();
  return noDecimals.includes(code) ? 0 : threeDecimals.includes(code) ? 3 : 2;
}

// Cents, which are the currency's smallest unit, as a number of the currency's units.
export const unitsOf = (cents: number, currency: string) => cents / 10 ** digitsOf(currency);

export function money(cents: number | null | undefined, currency: string): string {
  if (cents == null) return '–';
  const digits = digitsOf(currency);
  return new Intl.NumberFormat(locale(), { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits })
    .format(unitsOf(cents, currency));
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

// The largest unit in which n bytes are at least 1, and its size in bytes.
export function byteUnit(n: number): { unit: string; size: number } {
  const power = n < 1 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log10(n) / 3));
  return { unit: byteUnits[power]!, size: 1000 ** power };
}

export function bytes(n: number | null | undefined): string {
  if (n == null) return '–';
  const { unit, size } = byteUnit(n);
  return `${new Intl.NumberFormat(locale(), { maximumFractionDigits: 1 }).format(n / size)} ${unit}`;
}

export const countsBytes = (meter: UsageMeter) => meter.endsWith('_BYTES');

// An amount of a meter in the meter's unit.
export const amountText = (meter: UsageMeter, n: number | null | undefined) => (countsBytes(meter) ? bytes(n) : number(n));

export function duration(seconds: number | null | undefined): string {
  if (seconds == null) return '–';
  const whole = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

// A link from data. Other schemes, such as javascript:, give undefined.
export function safeLink(url: string | null | undefined): string | undefined {
  try {
    return url && /^https?:$/.test(new URL(url, location.href).protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}
