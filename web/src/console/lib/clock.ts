// Times within a recording, in seconds.

const two = (n: number) => String(n).padStart(2, '0');

// A time as minutes:seconds, or hours:minutes:seconds from an hour on, with milliseconds if it has some.
export function clockText(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const whole = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const fraction = ms % 1000 ? `.${String(ms % 1000).padStart(3, '0').replace(/0+$/, '')}` : '';
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}${fraction}`;
}

const pattern = /^(?:(?:(\d{1,4}):)?(\d{1,5}):)?(\d{1,8})(?:[.,](\d{1,3}))?$/;

// Reads such a time, or a number of seconds; null if it is neither. Decimals may have a comma.
export function parseClock(text: string): number | null {
  const [, hours = '0', minutes = '0', seconds, decimals = ''] = pattern.exec(text.trim()) ?? [];
  if (seconds === undefined) return null;
  if (text.includes(':') && Number(seconds) > 59) return null;
  if (text.split(':').length > 2 && Number(minutes) > 59) return null;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + Number(decimals.padEnd(3, '0')) / 1000;
}
