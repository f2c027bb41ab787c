import type { pushEn } from './push.en.js';

export const pushDe: Record<keyof typeof pushEn, string> = {
  title: 'Push', project: 'Projekt', projectHint: 'Zugangsdaten und Geräte gehören zu einem Projekt. Ihre Apps nennen es, wenn sie ein Gerät anmelden.', ios: 'iOS (APNs)',
  cloud: 'Android und Web (FCM)', configured: 'Vollständig', notConfigured: 'Nicht eingerichtet', on: 'An', off: 'Aus', bundle: 'Bundle-ID', production: 'Produktion', sandbox: 'Sandbox',
  change: 'Festlegen', iosTitle: 'Zugangsdaten für iOS', cloudTitle: 'Zugangsdaten für Android und Web', keyId: 'Schlüssel-ID', teamId: 'Team-ID', privateKey: 'Signaturschlüssel (.p8-Datei)',
  keptSecret: 'Leer: Der gespeicherte bleibt. Er wird nie gezeigt.', account: 'Dienstkonto (JSON-Datei)', badAccount: 'Das ist kein JSON-Objekt.', enabled: 'Nachrichten senden',
  setDone: 'Die Zugangsdaten sind gespeichert', test: 'Gerät prüfen', testText: 'Sendet eine Testnachricht an ein angemeldetes Gerät.', token: 'Gerätetoken', testAction: 'Test senden',
  send: 'Nachricht senden', sendAction: 'Senden', users: 'IDs der Benutzer', usersHint: 'Eine je Zeile, höchstens 5.000', subject: 'Titel', body: 'Text', preview: 'Vorschau', now: 'jetzt',
  confirmText: 'Die Nachricht geht sofort an alle Geräte von {n} Benutzern. Sie lässt sich nicht zurückholen.', sent: 'An {attempted} Geräte gesendet, {delivered} zugestellt, {pending} warten',
  sentList: 'Gesendete Nachrichten', noSent: 'Es wurde noch keine Nachricht gesendet.', attempted: 'Geräte', delivered: 'Zugestellt', failed: 'Gescheitert', waiting: 'Warten', remove: 'Gerät entfernen',
  removeText: 'An das Gerät wird nichts mehr gesendet, bis seine App es erneut anmeldet.', removeAction: 'Entfernen', removed: 'Das Gerät ist entfernt', cloudProject: 'Projekt des Anbieters',
};
