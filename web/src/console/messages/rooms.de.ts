import type { roomsEn } from './rooms.en.js';

export const roomsDe: Record<keyof typeof roomsEn, string> = {
  sessions: 'Sitzungen und Anrufe', newSession: 'Neue Sitzung', noSessions: 'Keine Sitzung passt. Eine Sitzung ist ein Raum für eine Konferenz, ein Webinar oder einen interaktiven Livestream.', type: 'Art',
  conference: 'Konferenz', webinar: 'Webinar', livestream: 'Livestream', call: 'Anruf', waiting: 'Wartet', live: 'Läuft', ended: 'Beendet', cancelled: 'Abgesagt',
  people: 'Im Raum', host: 'Gastgeber', hostID: 'Ihre Id des Gastgebers', waitingRoom: 'Teilnehmer warten, bis sie eingelassen werden', transcription: 'Mitschrift führen und Zusammenfassung schreiben',
  announceRecording: 'Ankündigen, dass die Sitzung aufgezeichnet wird', capacity: 'Plätze', capacityHint: 'Die höchste Zahl des Tarifs, wenn leer', started: 'Begonnen',
  end: 'Sitzung beenden', endText: 'Alle Teilnehmer werden getrennt, Gruppenräume schließen, und eine Aufzeichnung endet. Die Sitzung lässt sich nicht wieder starten.',
  lock: 'Abschließen', unlock: 'Öffnen', locked: 'Abgeschlossen: neue Teilnehmer kommen nicht hinein', participants: 'Teilnehmer', noParticipants: 'Es gibt noch keine Teilnehmer. Erzeugen Sie einen Link, und senden Sie ihn.',
  muteAll: 'Alle stumm schalten', muteAllText: 'Alle Mikrofone außer dem des Gastgebers werden stumm. Teilnehmer können sich wieder einschalten.', mute: 'Stumm schalten', kick: 'Entfernen', kickText: '„{name}“ wird sofort getrennt und kommt bis zu einer neuen Einladung nicht wieder hinein.',
  admit: 'Einlassen', promote: 'Zum Co-Gastgeber machen', demote: 'Zum Gast machen', spotlight: 'Hervorheben', unspotlight: 'Nicht mehr hervorheben', inSpotlight: 'Hervorgehoben', handUp: 'Meldet sich', lowerHand: 'Hand senken',
  moderateName: '{name} moderieren', roleHost: 'Gastgeber', roleCohost: 'Co-Gastgeber', roleGuest: 'Gast', roleViewer: 'Zuschauer',
  stateInvited: 'Eingeladen', stateWaiting: 'Wartet', stateJoined: 'Im Raum', stateLeft: 'Gegangen', stateKicked: 'Entfernt', joined: 'Eingetreten',
  links: 'Links', linksText: 'Ein Link öffnet den Raum für eine Person, 6 Stunden lang. Geben Sie ihn nur dieser Person.', hostLink: 'Link für den Gastgeber', guestLink: 'Link für einen Gast', guestID: 'Ihre Id des Gastes', guestName: 'Name für die anderen',
  linkReady: 'Der Link für {name}', openRoom: 'Raum öffnen', copyLink: 'Link kopieren', recordings: 'Aufzeichnungen', noRecordings: 'Es wurde noch nichts aufgezeichnet. Starten Sie eine Aufzeichnung, während die Sitzung läuft.',
  startRecording: 'Aufzeichnung starten', stopRecording: 'Aufzeichnung beenden', recording: 'Läuft', processing: 'In Vorbereitung', ready: 'Bereit', failed: 'Fehlgeschlagen', watch: 'Ansehen', incomplete: 'Nicht vollständig: {reason}',
  summary: 'Zusammenfassung', noSummary: 'Es gibt keine Zusammenfassung. Sie entsteht 10 bis 30 Sekunden nach dem Ende, wenn die Sitzung eine Mitschrift führt.', decisions: 'Beschlüsse', actionItems: 'Aufgaben', highlights: 'Höhepunkte',
  transcript: 'Mitschrift', noTranscript: 'Es gibt keine Zeilen. Sie erscheinen, wenn in einer Sitzung mit Mitschrift gesprochen wird.', people2: '{count} von {capacity}',
};
