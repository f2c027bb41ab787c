import type { hooksEn } from './hooks.en.js';

export const hooksDe: Record<keyof typeof hooksEn, string> = {
  attemptsTitle: 'Versuche für {event}', at: 'Zeit', answer: 'Antwort', took: 'Dauer', milliseconds: '{n} ms', noAttempts: 'Es gab noch keinen Versuch.', nextAttempt: 'Nächster Versuch: {at}', payload: 'Inhalt',
  response: 'Antwort Ihres Servers', details: 'Einzelheiten', edit: 'Bearbeiten', editTitle: 'Endpunkt bearbeiten', rotateSecret: 'Schlüssel ersetzen',
  rotateText: 'Der Endpunkt erhält einen neuen Signaturschlüssel. 24 Stunden lang werden Ereignisse mit beiden signiert, damit Ihr Server wechseln kann.',
  newSecret: 'Der neue Signaturschlüssel', secretOnce: 'Der Schlüssel wird nur jetzt gezeigt. Der bisherige gilt bis {at}.', disable: 'Anhalten', enable: 'Fortsetzen',
  disableText: 'Fällige Zustellungen scheitern. Ereignisse während der Pause werden nicht gesendet; stellen Sie sie nach dem Fortsetzen mit „Verpasste Ereignisse zustellen“ zu.', enabled: 'Der Endpunkt ist aktiv', disabled: 'Der Endpunkt ist angehalten',
  recover: 'Verpasste Ereignisse zustellen', recoverText: 'Stellt gescheiterte und verpasste Ereignisse seit dieser Zeit zu, die ältesten zuerst.', since: 'Seit', recovered: '{n} Ereignisse werden erneut zugestellt',
  recoveredMore: '{n} Ereignisse werden erneut zugestellt. Es gibt weitere: Wiederholen Sie es.', failingSince: 'Scheitert seit {at}', previousUntil: 'Der bisherige Schlüssel gilt bis {at}.',
  subscribed: 'Ereignisse: {events}', allEvents: 'alle', pending: 'Wartet', delivered: 'Zugestellt', retrying: 'Wird wiederholt', failed: 'Gescheitert', active: 'Aktiv', statusDisabled: 'Angehalten',
  tester: 'Webhook-Tester', testerText: 'Eine Testadresse bewahrt die letzten 200 Anfragen bis zu 7 Tage auf; der Tarif begrenzt ihre Größe.',
  newCapture: 'Neue Testadresse', noCaptureUrls: 'Es gibt noch keine Testadressen. Erstellen Sie eine und registrieren Sie sie als Webhook-Endpunkt.', address: 'Adresse',
  captured: 'Anfragen', lastCaptured: 'Letzte Anfrage', removeCapture: 'Die Adresse und ihre Anfragen werden gelöscht.', remove: 'Löschen', removed: 'Die Adresse ist gelöscht',
  captures: 'Anfragen', noCaptures: 'Es gibt noch keine Anfragen. Senden Sie eine an die Adresse: Sie erscheint hier nach Sekunden.', method: 'Methode', path: 'Pfad', size: 'Größe', from: 'Von',
  headers: 'Kopfzeilen', body: 'Inhalt', bodyBinary: 'Der Inhalt ist kein Text. Er wird in Base64 gezeigt.', noBody: 'Die Anfrage hat keinen Inhalt.', replay: 'Erneut senden',
  replayText: 'Methode, Kopfzeilen und Inhalt werden einmal gesendet, auch Authorization und Cookie.', replayAction: 'Senden', replayed: 'Antwort {status} nach {ms} ms',
  replayFailed: 'Die Adresse war nicht erreichbar: {error}', allCaptures: 'Alle Testadressen', show: 'Zeigen', value: 'Wert', created: 'Die Testadresse ist bereit',
};
