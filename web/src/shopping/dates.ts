import { locale } from './texts/index.js';

/** Writes a start time in the viewer's zone, such as "Friday, 27 November, 18:00 CET". */
export function startTime(time: string): string {
  return new Date(time).toLocaleString(locale, {
    weekday: 'long', day: 'numeric', month: 'long', hour: '2-digit', minute: '2-digit', timeZoneName: 'short',
  });
}

/** Writes a date with its time. */
export function dateTime(time: string): string {
  return new Date(time).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Writes a position in a recording, such as 1:02:03 or 0:07. */
export function position(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];

  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** Writes a time left: days and hours, then minutes and seconds, and tenths of a second in the last minute if wanted. */
export function timeLeft(ms: number, tenths = false): string {
  if (tenths && ms < 60_000) {
    return (Math.floor(ms / 100) / 10).toLocaleString(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  }
  const day = 86_400_000;
  const days = Math.floor(ms / day);
  const rest = position(Math.ceil((ms - days * day) / 1000));

  return days > 0 ? `${days.toLocaleString(locale, { style: 'unit', unit: 'day', unitDisplay: 'long' })} ${rest}` : rest;
}
