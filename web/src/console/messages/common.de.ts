import type { commonEn } from './common.en.js';

export const commonDe: Record<keyof typeof commonEn, string> = {
  signIn: 'Anmelden', signOut: 'Abmelden', email: 'E-Mail', password: 'Passwort', code: 'Code aus der Authenticator-App',
  useRecovery: 'Wiederherstellungscode verwenden', recoveryCode: 'Wiederherstellungscode', forgot: 'Passwort vergessen?', forgotSent: 'Wenn es zu dieser Adresse ein Konto gibt, ist ein Link unterwegs.',
  expiredTitle: 'Bitte erneut anmelden', expiredText: 'Die Sitzung ist abgelaufen. Nach der Anmeldung geht es weiter, alle Eingaben bleiben erhalten.',
  network: 'Der Server ist nicht erreichbar. Prüfen Sie die Verbindung und versuchen Sie es erneut.', retry: 'Erneut versuchen', stale: 'Die Seite zeigt ältere Daten, denn sie ließ sich nicht aktualisieren.', copy: 'Kopieren', copied: 'Kopiert',
  request: 'Anfrage', problemCode: 'Code', loading: 'Wird geladen', search: 'Suchen', commands: 'Befehle', commandHint: 'Zu einer Seite gehen oder etwas einstellen',
  nothingFound: 'Nichts gefunden', menu: 'Menü', language: 'Sprache', scheme: 'Farben', light: 'Hell', dark: 'Dunkel', auto: 'Wie das System',
  columns: 'Spalten', exportCsv: 'CSV-Export', exportedPart: 'Die Datei enthält die ersten {n} Zeilen. Filtern Sie die Liste, um andere zu exportieren.', all: 'Alle', cancel: 'Abbrechen', save: 'Speichern', saved: 'Gespeichert', close: 'Schließen', create: 'Anlegen',
  loadMore: 'Mehr laden', notFound: 'Diese Seite gibt es nicht', notFoundText: 'Wählen Sie eine Seite aus der Navigation.', reason: 'Grund', from: 'Von',
  name: 'Name', status: 'Status', created: 'Angelegt', role: 'Rolle', plan: 'Tarif', actions: 'Aktionen', done: 'Erledigt', page: 'Seite',
  shown: '{from}–{to} von {total}', rows: 'Zeilen', account: 'Konto',
  previousPage: 'Vorige Seite', nextPage: 'Nächste Seite', crashed: 'Diese Seite ist fehlgeschlagen', crashedText: 'Laden Sie sie neu. Falls der Fehler bleibt, melden Sie den Text unten.',
  empty: 'Noch nichts vorhanden', navigation: 'Navigation',
};
