import type { adminImportEn } from './admin-import.en.js';

export const adminImportDe: Record<keyof typeof adminImportEn, string> = {
  importLog: 'CDN-Protokoll importieren', title: 'Zeilen eines CDN-Protokolls importieren',
  text: 'Die Bytes zählen als gesendete Daten, und zwar für den Mandanten, dessen Stream oder Aufzeichnung der Pfad nennt, in der '
    + 'Stunde der Anfrage. Eine Zeile zählt einmal: Quelle und Id der Anfrage kennzeichnen sie. Adressen von Zuschauern werden '
    + 'nicht gespeichert.',
  wholeFiles: 'Nehmen Sie für ganze Protokolldateien von CloudFront, Cloudflare, Akamai und anderen den Befehl '
    + '„showfloor import-cdn-logs“. Importieren Sie dieselben Anfragen nicht auf beiden Wegen: Sie würden doppelt zählen.',
  source: 'Quelle', sourceHint: 'Ihr Name für das CDN: Kleinbuchstaben, Ziffern und Bindestriche, etwa edge-eu',
  file: 'Datei mit Zeilen', chooseFile: 'Datei wählen',
  fileHint: 'CSV mit diesen Spalten, JSON-Zeilen mit diesen Feldern oder das JSON-Dokument der API. Die letzten drei sind freiwillig.',
  noColumn: 'Der Datei fehlt die Spalte „{name}“.', noRows: 'Die Datei hat keine Zeilen.', badJson: 'Zeile {line} ist kein JSON.',
  noList: 'Dem JSON-Dokument fehlt die Liste „rows“.',
  tooLarge: 'Die Datei ist größer als {size}. Nehmen Sie den Befehl für ganze Protokolldateien.',
  toCount: 'Wird gezählt', rows: 'Zeilen', bytes: 'Bytes', times: 'Anfragen', between: '{from} bis {to}',
  failed: 'Mit einem Status ab 400', failedNote: '{n}: Sie zählen für keinen Mandanten',
  elsewhere: 'Mit anderem Pfad als /live/ oder /vod/', send: '{n} Zeilen importieren', goOn: 'Ohne die abgelehnten Zeilen weiter',
  sending: '{sent} von {total} Zeilen sind gesendet', result: 'Ergebnis', imported: 'Importiert',
  duplicates: 'Früher importiert, nicht erneut gezählt',
  unattributed: 'Importiert, aber von keinem Mandanten',
  countedBytes: 'Gezählte Bytes',
  refused: 'Abgelehnte Zeilen', line: 'Zeile', row: 'Nummer', message: 'Antwort des Servers',
  exportRefused: 'Abgelehnte Zeilen exportieren', refusedCount: 'Abgelehnt',
  stopped: 'Der Import ist abgebrochen: {sent} von {total} Zeilen wurden gesendet.',
  notSent: 'Von den letzten {n} Zeilen wurde nichts importiert. Sie können die Datei berichtigen und ganz erneut senden: Keine Zeile '
    + 'zählt zweimal.',
  cdnADay: 'Von CDNs gesendet', serversADay: 'Von den Servern gesendet', share: 'Anteil', traffic: 'Gesendet je Tag, GB',
  noTraffic: 'In diesem Zeitraum wurde nichts empfangen oder gesendet.',
};
