import type { adminFiguresEn } from './admin-figures.en.js';

export const adminFiguresDe: Record<keyof typeof adminFiguresEn, string> = {
  dashboard: 'Übersicht', tenants: 'Mandanten', newIn30: '{now} neue in 30 Tagen, {before} in den 30 davor', users: 'Aktive Benutzer',
  liveStreams: 'Streams auf Sendung', viewers: 'Zuschauer', liveSessions: 'Laufende Sitzungen und Anrufe', participants: '{n} Teilnehmer',
  recordings: 'Aufzeichnungen', openTickets: 'Offene Anfragen', failedDeliveries: 'Fehlgeschlagene Zustellungen, 24 h',
  recurring: 'Umsatz im Monat', signUps: 'Neue Mandanten je Tag', allTenants: 'Mandanten insgesamt', growth: 'Wachstum, letzte 30 Tage',
  revenue: 'Wiederkehrender Umsatz nach Monaten', revenueIn: 'Umsatz im Monat, {currency}',
  notWired: 'Die Abrechnung ist nicht verbunden. Mit dem Schlüssel des Zahlungsdienstes erscheint hier der Umsatz.',
  noRevenue: 'Es ist noch kein Umsatz gebucht.', planShares: 'Mandanten nach Tarif', activity: 'Aktivität auf der Plattform',
  area: 'Bereich', nowActive: 'Jetzt', day: '24 Stunden', week: '7 Tage', month: '30 Tage', recent: 'Letzte Änderungen',
  allChanges: 'Alle Änderungen', action: 'Aktion', actor: 'Akteur', entity: 'Objekt', at: 'Zeit',
  noChanges: 'Hier erscheinen Änderungen von Mandanten und Admins.', reports: 'Berichte', report: 'Bericht',
  tenantGrowth: 'Mandanten', streamActivity: 'Streams', topTenants: 'Größte Mandanten',
  date: 'Tag', cancelled: 'Gekündigt', suspendedTenants: 'Gesperrt', broadcasts: 'Sendungen', minutesLive: 'Minuten auf Sendung',
  minutesWatched: 'Gesehene Minuten', peakViewers: 'Meiste Zuschauer zugleich', peakStreams: 'Meiste Streams zugleich',
  streams: 'Streams', rank: 'Rang', tenant: 'Mandant', egress: 'Gesendet', participantMinutes: 'Minuten in Sitzungen', paid: 'Bezahlt',
  noTop: 'In den letzten 30 Tagen hatte kein Mandant Zuschauer.',
};
