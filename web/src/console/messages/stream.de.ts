import type { streamEn } from './stream.en.js';

export const streamDe: Record<keyof typeof streamEn, string> = {
  shopping: 'Shopping-Seite', edit: 'Bearbeiten', editTitle: 'Stream bearbeiten', name: 'Name', poster: 'Adresse des Vorschaubilds', scheduled: 'Geplanter Beginn', publicReplay: 'Aufzeichnungen, die ohne Token zu sehen sind', replayProducts: 'Solche, die Produkte zeigen', replayAll: 'Alle', replayNone: 'Keine',
  saved: 'Der Stream ist gespeichert',
  fixed: 'Latenz und Aufzeichnung werden beim Erstellen eines Streams gewählt.',
};
