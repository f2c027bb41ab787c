import type { broadcastEn } from './broadcast.en.js';

export const broadcastDe: Record<keyof typeof broadcastEn, string> = {
  title: 'Übertragung', text: 'Sendet das Bild und die Stimmen des Raums in einen Stream, der wie jeder andere geschaut, aufgezeichnet und weitergeleitet wird.', 
  stream: 'Stream', noStream: 'Kein Stream ist frei. Legen Sie einen an, oder beenden Sie eine Sendung.', streamHint: 'Ein Stream, der nicht auf Sendung ist', start: 'Übertragung starten', stop: 'Übertragung beenden', stopText: 'Der Stream endet, als hätte sein Encoder aufgehört. Die Sitzung läuft weiter.',
  starting: 'Beginnt', startingText: 'Sie ist mit dem ersten Bild auf Sendung. Dazu muss ein Teilnehmer im Raum sein.', live: 'Auf Sendung', liveText: 'Auf Sendung seit {time}.', ended: 'Beendet', toStream: 'Stream öffnen',
  endedText: 'Sie endete am {time}.', stopped: 'Sie wurde beendet.', session_ended: 'Die Sitzung endete.', stream_stopped: 'Der Stream wurde angehalten.', stream_taken: 'Ein Encoder sendete in den Stream.', encoder_failed: 'Der Encoder des Servers fiel aus.',
  no_capacity: 'Der Server hatte keinen Platz für eine weitere Übertragung.', room_empty: 'Der Raum war leer.', download: 'Als WebVTT herunterladen',
};
