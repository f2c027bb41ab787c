import type { analyticsEn } from './analytics.en.js';

export const analyticsDe: Record<keyof typeof analyticsEn, string> = {
  title: 'Auswertung', range: 'Zeitraum', day1: '24 Stunden', day7: '7 Tage', day30: '30 Tage', day90: '90 Tage', day365: '12 Monate', viewers: 'Zuschauer',
  viewersHint: 'Die meisten Zuschauer zugleich', minutesLive: 'Minuten auf Sendung', minutesWatched: 'Gesehene Minuten', sessions: 'Sitzungen', orders: 'Bestellungen', revenue: 'Umsatz, {currency}',
  revenueShort: 'Umsatz', noRevenue: 'Keiner', streams: 'Streams', table: 'Alle Werte', at: 'Zeit (Intervalle in UTC)', none: 'In diesem Zeitraum geschah nichts. Wählen Sie einen längeren.',
  sales: 'Verkäufe',
};
