import type { chatEn } from './chat.en.js';

export const chatDe: Record<keyof typeof chatEn, string> = {
  chat: 'Chat', noChat: 'Es gibt noch keine Nachrichten.', message: 'Nachricht', send: 'Senden', asYou: 'Sie schreiben als {name}.', deleted: 'gelöscht', edited: 'bearbeitet',
  actionsOn: 'Aktionen für die Nachricht von {name}', remove: 'Löschen', removeText: 'Die Nachricht verschwindet für alle Leser. Das lässt sich nicht rückgängig machen.',
  mute: 'Stumm schalten', muteText: '„{name}“ kann weiter lesen, aber nicht schreiben, bis Sie die Stummschaltung aufheben.', unmute: 'Stummschaltung aufheben',
  timeout: 'Auszeit geben', timeoutText: '„{name}“ kann weiter lesen, aber nicht schreiben, bis die Zeit um ist. Eine neue Auszeit ersetzt die vorige.', untimeout: 'Auszeit beenden',
  ban: 'Sperren', banText: '„{name}“ wird vom Chat getrennt und kann nicht lesen, schreiben oder beitreten, bis Sie die Sperre aufheben. Der Verlauf des Chats eines Streams bleibt öffentlich.', unban: 'Sperre aufheben',
  duration: 'Wie lange', minute1: '1 Minute', minute5: '5 Minuten', minute10: '10 Minuten', hour1: '1 Stunde', day1: '1 Tag', day7: '1 Woche',
  reason: 'Grund', reasonHint: 'Für Ihre eigenen Unterlagen; der Benutzer sieht ihn nicht.',
  slowmode: 'Langsamer Modus', slowOff: 'Kein langsamer Modus', slowFor: 'Langsamer Modus: {time}', seconds: '{n} s', minutes: '{n} min', hours: '{n} h', slowChanged: 'Der langsame Modus ist geändert',
  restricted: 'Jetzt stumm oder gesperrt', unrestricted: 'Alle Benutzer dürfen schreiben.', restrictHint: 'Um einen Autor stumm zu schalten, ihm eine Auszeit zu geben oder ihn zu sperren, öffnen Sie das Menü einer Nachricht.', muted: 'Stumm', banned: 'Gesperrt', timedOut: 'Auszeit bis {time}', timedOutShort: 'Auszeit',
  since: 'seit {time}', undoFor: '{act}: {name}',
};
