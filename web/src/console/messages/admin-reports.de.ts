import type { adminReportsEn } from './admin-reports.en.js';

export const adminReportsDe: Record<keyof typeof adminReportsEn, string> = {
  planMix: 'Tarife', byTenant: 'Aktivität nach Mandant', usage: 'Verbrauch im Monat', billing: 'Abrechnung',
  tenantsTotal: 'Mandanten insgesamt', tenantsBy: 'Mandanten nach Tarif, ohne gekündigte',
  watchedBy: 'Gesehene Minuten nach Tarif, letzte 30 Tage', share: 'Anteil der Mandanten',
  noWatched: 'In den letzten 30 Tagen hat kein Zuschauer zugesehen.', recurring: 'Umsatz im Monat', yearly: 'Umsatz im Jahr',
  minutesLive: 'Minuten auf Sendung, 30 Tage', minutesWatched: 'Gesehene Minuten, 30 Tage', tenant: 'Mandant', lastActive: 'Zuletzt aktiv',
  byTenantText: 'Zahlen der letzten 30 Tage (UTC) mit dem heutigen. Der neueste Mandant steht oben.',
  noTenants: 'Es gibt noch keine Mandanten.',
  usageText: 'Seit {from} (UTC). Die Liste hat die 100 Mandanten mit den meisten gesendeten Daten. Mandanten mit Abonnement werden nach dessen eigenen Monaten abgerechnet. Ihre Zahlen weichen daher ab.',
  noUsage: 'In diesem Monat hat kein Mandant etwas verbraucht. Verbrauch erscheint hier nach einer Sendung, Sitzung oder Aufzeichnung.',
  meter: 'Zähler', allMeters: 'Alle Zähler', used: 'Verbraucht', included: 'Enthalten', reached: 'Vom Enthaltenen',
  noLimit: 'Keine Grenze', mostOf: 'Die höchsten Werte dieser Mandanten: {meter}', ofIncluded: 'von {n}',
  stateAt: 'Stand: {time}. Monate sind Kalendermonate in UTC.', subscriptions: 'Abonnements',
  subscriptionsBy: 'Abonnements nach Status', noSubscriptions: 'Noch hat kein Mandant ein Abonnement.',
  trialsEnding: 'Testphasen, die in 7 Tagen enden', canceling: 'Enden mit ihrem Zeitraum', churn: 'In 30 Tagen beendet',
  churnNote: 'der Abonnements, die vor 30 Tagen bezahlt waren', failedPayments: 'Fehlgeschlagene Zahlungen, 30 Tage',
  amounts: 'Beträge nach Währung', currency: 'Währung',
  paid: 'Bezahlt in diesem Monat', refunded: 'Erstattet in diesem Monat', open: 'Offen', overdue: 'Überfällig',
  invoicesOf: '{n} Rechnungen', noAmounts: 'Noch ist kein Betrag gebucht. Beträge erscheinen hier nach der ersten Zahlung oder Rechnung.',
  report: 'Bericht zur Abrechnung', refundedNote: '{amount} erstattet',
};
