import type { adminStreamsEn } from './admin-streams.en.js';

export const adminStreamsDe: Record<keyof typeof adminStreamsEn, string> = {
  live: 'Jetzt auf Sendung', liveEmpty: 'Kein Stream ist auf Sendung. Streams erscheinen hier, sobald ihre Encoder verbunden sind.',
  tenantID: 'Id des Mandanten', streams: 'Streams', streamsEmpty: 'Kein Stream passt. Ändern Sie die Filter.', viewers: 'Zuschauer',
  since: 'Auf Sendung seit {time}', tenant: 'Mandant', started: 'Begonnen', ended: 'Beendet', forceStop: 'Stream beenden',
  forceStopText: 'Der Encoder wird getrennt, und die Sendung endet sofort für alle Zuschauer. Der Schlüssel wird 5 Minuten lang abgelehnt. Der Grund steht im Protokoll.',
  picture: 'Bild', noPicture: 'Es kommt kein Bild an', pictureOf: 'Neuestes Bild von {name}', inspect: 'Prüfen', details: 'Details', mode: 'Latenz', source: 'Kommt über',
  node: 'Server', address: 'Adresse des Encoders', recorded: 'Wird aufgezeichnet', yes: 'Ja', no: 'Nein',
  reconnect: 'Wartet auf den Encoder', seconds: '{n} s', blockedUntil: 'Schlüssel abgelehnt bis', health: 'Zustand', inspector: 'Prüfung',
  measured: 'Gemessen {time}', bitrate: 'Bitrate der letzten Stunde, kbit/s', frames: 'Bilder pro Sekunde der letzten Stunde',
  audience: 'Zuschauer der letzten Stunde', videoKbps: 'Bild, kbit/s', audioKbps: 'Ton, kbit/s', fps: 'Bilder pro Sekunde',
  noHistory: 'In der letzten Stunde auf Sendung wurde nichts gemessen.', tracks: 'Spuren', noTracks: 'Es kommen keine Medien an.',
  kind: 'Art', codec: 'Codec', format: 'Format', kbps: 'kbit/s', outputs: 'Ausgaben',
  noOutputs: 'Kein Player ist verbunden.', readers: 'Leser', dropped: 'Verworfen', keyFrames: 'Schlüsselbilder, Mittel',
  jitter: 'Schwankung der Ankunft', offset: 'Ton zu Bild', jumps: 'Sprünge der Uhr', keys: 'Streamschlüssel',
  noKeys: 'Der Stream hat keine Schlüssel.', key: 'Schlüssel', lastUsed: 'Zuletzt benutzt', revoke: 'Widerrufen',
  revokeText: 'Das Senden mit diesem Schlüssel wird abgelehnt. Ein Encoder, der mit ihm sendet, wird getrennt, und die Sendung endet. Einen neuen Schlüssel bekommt der Mandant durch Ersetzen.',
  recordings: 'Aufzeichnungen', length: 'Länge', audit: 'Änderungen',
};
