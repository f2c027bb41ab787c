import type { adminAccessEn } from './admin-access.en.js';

export const adminAccessDe: Record<keyof typeof adminAccessEn, string> = {
  apps: 'Eigene Apps',
  appsText: 'Die eigenen Anwendungen der Plattform: Mandanten ohne Benutzer mit dem Tarif Enterprise, die nie bezahlen.',
  appsEmpty: 'Es gibt noch keine Apps. Legen Sie eine an, um die API als Plattform zu nutzen.', newApp: 'Neue App',
  description: 'Beschreibung', keyCount: 'Gültige Schlüssel', lastUsed: 'Zuletzt benutzt',
  keys: 'API-Schlüssel', newKey: 'Neuer Schlüssel', noKeys: 'Die App hat keine Schlüssel.', key: 'Schlüssel',
  keyShown: 'Kopieren Sie den Schlüssel jetzt',
  keyText: 'Er wird nur einmal gezeigt. Bewahren Sie ihn dort auf, wo Ihr Server seine Geheimnisse hat.', revoke: 'Widerrufen',
  revokeText: 'Aufrufe mit diesem Schlüssel und mit Schlüsseln, die mit ihm erzeugt wurden, werden sofort abgelehnt.',
  apiCalls: 'API-Aufrufe, 30 Tage', streams: 'Streams', onAir: '{n} auf Sendung', minutesLive: 'Minuten auf Sendung, 30 Tage',
  minutesWatched: 'Gesehene Minuten, 30 Tage', webhooks: 'Webhooks', endpoint: 'Adresse',
  security: 'Meine Sicherheit',
  factorOff: 'Ihre Anmeldung braucht nur das Passwort. Richten Sie einen zweiten Faktor ein: Ein Adminkonto erreicht alle Mandanten.',
};
