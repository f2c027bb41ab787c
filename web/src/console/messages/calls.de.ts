import type { callsEn } from './calls.en.js';

export const callsDe: Record<keyof typeof callsEn, string> = {
  newCall: 'Neuer Anruf', call: 'Anruf', newCallText: 'Bei einem Anruf klingeln die Geräte eines Ihrer Nutzer. Die Ids sind die Ihres eigenen Systems.', ring: 'Anrufen', from: 'Id des Anrufers', fromName: 'Name, den die Geräte zeigen', fromNameHint: 'Die Id des Anrufers, wenn leer',
  to: 'Id der angerufenen Person', kind: 'Art', video: 'Video', voice: 'Sprache', project: 'Push-Projekt', projectHint: 'Seine Push-Zugangsdaten erreichen die Geräte. Ohne Projekt klingelt kein Gerät.', same: 'Anrufer und Angerufener sind dieselbe Person',
  ringing: 'Klingelt', talking: 'Im Gespräch', over: 'Beendet', unanswered: 'Nicht angenommen', ringingText: 'Die Geräte von {name} klingeln. Ein Anruf ohne Antwort wird von selbst abgebrochen, üblicherweise nach 45 Sekunden.',
  silentText: 'Der Anruf wartet auf die Antwort von {name}. Er hat kein Push-Projekt, darum klingelt kein Gerät. Ein Anruf ohne Antwort wird von selbst abgebrochen, üblicherweise nach 45 Sekunden.',
  talkingText: 'Der Anruf wurde angenommen. Er endet, wenn beide gegangen sind oder jemand auflegt.', overText: 'Der Anruf ist beendet.', unansweredText: 'Der Anruf wurde abgelehnt, verpasst oder zurückgenommen, bevor es eine Antwort gab.',
  caller: 'Anrufer', callee: 'Angerufen', linkFor: 'Link für {name}', answerAs: 'Als {name} annehmen', declineAs: 'Als {name} ablehnen', declineText: 'Die Geräte hören auf zu klingeln, und der Anruf ist vorbei. „{name}“ kann wieder angerufen werden.',
  takeBack: 'Anruf zurücknehmen', takeBackText: 'Die Geräte von „{name}“ hören auf zu klingeln, und der Anruf ist vorbei.', hangUp: 'Anruf beenden', hangUpText: 'Beide werden getrennt. Der Anruf lässt sich nicht wieder starten.',
};
