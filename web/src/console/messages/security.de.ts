import type { securityEn } from './security.en.js';

export const securityDe: Record<keyof typeof securityEn, string> = {
  title: 'Sicherheit', secondFactor: 'Zweiter Faktor', offText: 'Ihre Anmeldung braucht nur das Passwort. Mit einem zweiten Faktor braucht sie auch einen Code einer App auf Ihrem Telefon.',
  onText: 'Jede Anmeldung braucht einen Code aus Ihrer Authenticator-App. Eingeschaltet: {at}.', codesLeft: 'Übrige Wiederherstellungscodes: {n}.',
  fewCodes: 'Es sind nur noch wenige Wiederherstellungscodes übrig. Erstellen Sie rechtzeitig neue.', enable: 'Einrichten', enableTitle: 'Zweiten Faktor einrichten',
  passwordFirst: 'Geben Sie zuerst Ihr Passwort ein.', next: 'Weiter', scan: 'Scannen Sie diesen Code mit Ihrer Authenticator-App.', qr: 'QR-Code für die Authenticator-App',
  byHand: 'Oder geben Sie diesen Schlüssel in der App ein:', firstCode: 'Code aus der App', confirm: 'Einschalten', validUntil: 'Der Schlüssel gilt bis {at}.',
  codesTitle: 'Ihre Wiederherstellungscodes', codesText: 'Jeder Code ersetzt die App bei einer Anmeldung. Sie werden nur jetzt gezeigt: Verwahren Sie sie sicher.',
  download: 'Herunterladen', renew: 'Neue Wiederherstellungscodes', renewText: 'Die bisherigen Wiederherstellungscodes werden ungültig. Sie erhalten 10 neue.', disable: 'Ausschalten',
  disableText: 'Ihre Anmeldung braucht dann nur das Passwort. Die Wiederherstellungscodes werden ungültig, und Sie erhalten eine Mail darüber.',
  proofCode: 'Code aus der App oder Wiederherstellungscode', enabled: 'Der zweite Faktor ist eingeschaltet', disabled: 'Der zweite Faktor ist ausgeschaltet',
  logins: 'Ihre Anmeldungen', thisOne: 'Diese hier', browser: 'Browser', ip: 'Adresse', since: 'Angemeldet', lastSeen: 'Zuletzt gesehen', end: 'Beenden',
  endText: 'Diese Anmeldung endet innerhalb von 2 Sekunden.', endThis: 'Sie werden hier abgemeldet.', endOthers: 'Alle anderen beenden',
  endOthersText: 'Alle Ihre anderen Anmeldungen enden innerhalb von 2 Sekunden. Diese hier bleibt.', ended: 'Die Anmeldung ist beendet', endedOthers: 'Die anderen Anmeldungen sind beendet',
  noLogins: 'Es gibt keine Anmeldungen.', noUser: 'Nur Benutzer haben einen zweiten Faktor und Anmeldungen.', codesKept: 'Ich habe die Codes verwahrt',
};
