import type { UsageHistoryBy, UsageMeter } from '../../gen/api.js';
import { meters } from '../lib/meters.js';
import type { ListState } from '../lib/table.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const mostDays = 400;
const mostDaysByHour = 31;

export const ranges = [
  { key: 'current', text: 'current' }, { key: '1', text: 'day1' }, { key: '7', text: 'day7' }, { key: '30', text: 'day30' },
  { key: '90', text: 'day90' }, { key: '365', text: 'day365' }, { key: 'own', text: 'own' },
] as const;

export interface UsageQuery { from?: string; to?: string; by: UsageHistoryBy; meter?: UsageMeter }

// The part of the page's address that says which usage is shown. query is null for a range that can't be shown.
export interface UsageView { range: string; by: UsageHistoryBy; query: UsageQuery | null; tooLongForHours: boolean }

export const dayText = (at: number) => new Date(at).toISOString().slice(0, 10);
export const today = () => Math.floor(Date.now() / dayMs) * dayMs;

const iso = (at: number) => new Date(at).toISOString();

// The beginning and end of a range; neither for the current billing period, null for a range that isn't complete. Days begin in UTC, as
// those of the server do.
function spanOf(range: string, { from, to }: ListState): { from?: number; to?: number } | null {
  if (range === 'current') return {};
  if (range === 'own') {
    const [first, last] = [Date.parse(`${from}T00:00:00Z`), Date.parse(`${to}T00:00:00Z`)];
    const days = (last - first) / dayMs + 1;
    return days >= 1 && days <= mostDays ? { from: first, to: last + dayMs } : null;
  }
  const end = Math.ceil(Date.now() / hourMs) * hourMs; // a whole hour, so that the query's key stays the same
  const days = Number(range);
  return { from: days === 1 ? end - dayMs : today() - (days - 1) * dayMs, to: end };
}

export function viewOf(state: ListState): UsageView {
  const range = ranges.find(({ key }) => key === state.range)?.key ?? 'current';
  const span = spanOf(range, state);
  const asked = (['day', 'hour', 'stream'] as const).find((by) => by === state.by) ?? (range === '1' ? 'hour' : 'day');
  const days = span?.from !== undefined && span.to !== undefined ? (span.to - span.from) / dayMs : 0;
  const tooLongForHours = asked === 'hour' && days > mostDaysByHour;
  const by = tooLongForHours ? 'day' : asked;
  const meter = meters.find((one) => one === state.meter);
  const query = span && {
    ...(span.from !== undefined && { from: iso(span.from) }), ...(span.to !== undefined && { to: iso(span.to) }),
    by, ...(meter && { meter }),
  };
  return { range, by, query, tooLongForHours };
}
