import type { breakoutsEn } from './breakouts.en.js';

export const breakoutsDe: Record<keyof typeof breakoutsEn, string> = {
  title: 'Gruppenräume', open: 'Gruppenräume öffnen', openMore: 'Weitere Räume öffnen', openAction: 'Räume öffnen', none: 'Es gibt keine Gruppenräume. Öffnen Sie welche, um die Teilnehmer dieser Sitzung auf Gruppen zu verteilen.',
  count: 'Zahl der Räume', countHint: 'Bis zu 20 auf einmal, höchstens 100 offen', minutes: 'Minuten, bis die Räume schließen', minutesHint: 'Wenn leer, bleiben sie offen, bis Sie sie schließen', people: 'Verteilung', noPeople: 'Es ist noch niemand eingetreten oder eingeladen. Sie können die Räume öffnen, aber nur Gastgeber und Co-Gastgeber können sie betreten.',
  spread: 'Gleichmäßig verteilen', clear: 'Leeren', noRoom: 'Kein Raum', room: 'Raum {number}', roomOf: 'Raum von {name}', assigned: '{assigned} von {total} sind zugeordnet', numbering: 'Räume, die schon offen sind, bleiben offen. Die Nummern der neuen schließen an ihre an.',
  hint: 'Die Teilnehmer werden eingeladen und treten mit dem Token ein, das sie haben. Gastgeber und Co-Gastgeber dürfen alle Räume betreten.', opened: 'Die Räume sind offen', closeAll: 'Alle Räume schließen', closeText: '{count} Räume schließen sofort, und ihre Teilnehmer können in diese Sitzung zurückkehren. Aufzeichnungen der Räume enden.', closed: 'Die Räume sind geschlossen',
  closesAt: 'Schließt um {time}', staysOpen: 'Offen, bis Sie ihn schließen', empty: 'Niemand ist eingeladen. Gastgeber und Co-Gastgeber dürfen eintreten.', parent: 'Das ist ein Gruppenraum.', toParent: 'Zur Hauptsitzung',
};
