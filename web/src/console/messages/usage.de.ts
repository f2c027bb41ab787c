import type { usageEn } from './usage.en.js';

export const usageDe: Record<keyof typeof usageEn, string> = {
  title: 'Verlauf des Verbrauchs', toBilling: 'Abrechnung', period: 'Zeitraum', current: 'Dieser Abrechnungszeitraum', day1: '24 Stunden', day7: '7 Tage', day30: '30 Tage', day90: '90 Tage', day365: '12 Monate', own: 'Von … bis …', from: 'Von', to: 'Bis (einschließlich)', fromTo: '{from} – {to}',
  by: 'Zeilen', byDay: 'Nach Tagen', byHour: 'Nach Stunden', byStream: 'Nach Streams und anderem', hoursLimit: 'Stunden gibt es für höchstens 31 Tage, darum stehen hier Tage.', badRange: 'Wählen Sie einen ersten und einen letzten Tag. Der Zeitraum hat höchstens 400 Tage, beide eingeschlossen.',
  meter: 'Zähler', empty: 'In diesem Zeitraum gibt es keinen Verbrauch. Wählen Sie einen längeren, oder starten Sie einen Stream oder eine Sitzung.', table: 'Alle Zeilen', day: 'Tag (UTC)', hour: 'Stunde', resource: 'Stream oder anderes', kind: 'Art', stream: 'Stream', session: 'Sitzung', recording: 'Aufzeichnung', transcode: 'Umrechnung', other: 'Anderes', totals: 'Summen des Zeitraums', download: 'Genaue Daten herunterladen (CSV)',
  unit: '{meter}, {unit}', storageNote: 'der höchste Stand', delay: 'Die Werte können bis zu 5 Minuten alt sein. Minuten sind in jeder Zeile aufgerundet; die CSV-Datei der genauen Daten hat Sekunden.',
};
