import type { adminEn } from './admin.en.js';

export const adminDe: Record<keyof typeof adminEn, string> = {
  title: 'Admin', signInTitle: 'Als Admin anmelden', tenants: 'Mandanten', users: 'Benutzer', audit: 'Protokoll', plans: 'Tarife', subscriptions: 'Abonnements',
  invoices: 'Rechnungen', recordings: 'Aufzeichnungen', bandwidth: 'Bandbreite', members: 'Benutzer', live: 'Auf Sendung', suspend: 'Sperren', unsuspend: 'Sperre aufheben',
  suspendText: 'Alle Streams des Mandanten enden sofort. Benutzer, Schlüssel und Token werden abgelehnt. Webhooks warten. Der Grund steht im Protokoll.',
  unsuspendText: 'Benutzer, Schlüssel und Token des Mandanten gelten wieder, und er darf senden.', suspended: 'Gesperrt', noTenants: 'Kein Mandant passt. Ändern Sie die Suche oder die Filter.',
  noUsers: 'Kein Benutzer passt. Ändern Sie die Suche.', noAudit: 'Kein Eintrag passt. Ändern Sie die Filter.', noPlans: 'Es gibt keine Tarife.', noneMatch: 'Kein Eintrag passt. Ändern Sie die Filter.',
  changePlan: 'Tarif ändern', changePlanText: 'Die neuen Grenzen gelten sofort. Was über einer kleineren Grenze liegt, bleibt dem Mandanten.', recentStreams: 'Letzte Streams', keys: 'API-Schlüssel',
  tenant: 'Mandant', actor: 'Akteur', action: 'Aktion', entity: 'Objekt', at: 'Zeit', changes: 'Änderungen', noChanges: 'Es sind keine Felder verzeichnet.',
  actionsOn: 'Aktionen für {name}', disableTotp: 'Zweiten Faktor abschalten', disableTotpText: 'Vergewissern Sie sich, wer fragt. Der Benutzer meldet sich dann nur mit dem Passwort an, alle seine Anmeldungen enden sofort, und er bekommt eine Mail.',
  deactivate: 'Deaktivieren', activate: 'Aktivieren', deactivateText: 'Die Token des Benutzers werden sofort abgelehnt.', resetPassword: 'Passwortlink senden',
  price: 'Preis im Monat', subscribers: 'Abonnenten', active: 'Aktiv', deactivatePlan: 'Zurückziehen', activatePlan: 'Anbieten', planText: 'Mandanten mit diesem Tarif behalten ihn. Neue können ihn nicht buchen.',
  periodEnd: 'Zeitraum endet', cancelSubscription: 'Kündigen', cancelText: 'Das Abonnement endet mit seinem Zeitraum.', pause: 'Pausieren', pauseText: 'Das Abonnement ist pausiert. Bis zur Fortsetzung wird nichts berechnet.',
  resume: 'Fortsetzen', total: 'Summe', due: 'Fällig', removeRecording: 'Löschen', removeText: 'Die Aufzeichnung und ihre Dateien werden gelöscht. Das lässt sich nicht rückgängig machen.', retain: 'Aufbewahrt bis', size: 'Größe', length: 'Länge',
  ingress: 'Empfangen', egress: 'Gesendet', cdn: 'Von CDNs gesendet', tenantID: 'Id des Mandanten', lastLogin: 'Letzte Anmeldung', suspensionReason: 'Grund: {reason}',
  ip: 'Adresse', requestID: 'Anfrage', impersonator: 'Handelnder Admin', impersonation: 'Zugriff als Benutzer', stream: 'Stream', started: 'Begonnen', priceNow: 'Preis',
  groupCustomers: 'Kunden', groupMoney: 'Geld', groupStreaming: 'Streaming', groupSystem: 'System',
  dashboard: 'Übersicht', liveWall: 'Jetzt auf Sendung', streams: 'Streams', tickets: 'Anfragen', announcements: 'Ankündigungen',
  compliance: 'Compliance', reports: 'Berichte', webhooks: 'Webhooks', devActivity: 'API-Nutzung', apps: 'Eigene Apps',
  settings: 'Einstellungen', jobs: 'Aufgaben', health: 'Zustand', security: 'Meine Sicherheit', groupDevelopers: 'Entwickler',
  period: 'Zeitraum', lastDays: 'Letzte {n} Tage',
};
