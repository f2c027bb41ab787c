import type { supportEn } from './support.en.js';

export const supportDe: Record<keyof typeof supportEn, string> = {
  title: 'Support', tickets: 'Anfragen', newTicket: 'Neue Anfrage', noTickets: 'Es gibt noch keine Anfragen. Fragen Sie den Support mit einer neuen.',
  subject: 'Betreff', body: 'Ihre Frage', bodyHint: 'Schreiben Sie, was Sie getan haben, was geschah und wann. Anfragen an die API haben eine ID, die uns beim Suchen hilft.',
  priority: 'Dringlichkeit', LOW: 'Niedrig', NORMAL: 'Normal', HIGH: 'Hoch', URGENT: 'Dringend', OPEN: 'Wartet auf den Support', PENDING: 'Wartet auf Sie',
  RESOLVED: 'Gelöst', CLOSED: 'Geschlossen', requester: 'Gestellt von', messages: 'Nachrichten', lastMessage: 'Letzte Nachricht', number: 'Nr.',
  conversation: 'Verlauf', answer: 'Ihre Nachricht', send: 'Senden', sent: 'Die Nachricht ist gesendet', close: 'Anfrage schließen',
  closeText: 'Die Anfrage nimmt keine Nachrichten mehr an. Stellen Sie für eine weitere Frage eine neue.', closed: 'Die Anfrage ist geschlossen',
  closedNote: 'Diese Anfrage ist geschlossen. Stellen Sie für eine weitere Frage eine neue.', byTeam: 'Ihr Team', bySupport: 'Support', bySystem: 'Automatische Nachricht',
  announcements: 'Mitteilungen', noAnnouncements: 'Es gibt keine Mitteilungen.', dismiss: 'Nicht mehr zeigen', INFO: 'Info', WARNING: 'Wichtig', CRITICAL: 'Kritisch',
  published: 'Veröffentlicht {at}', all: 'Alle Mitteilungen', allTickets: 'Alle Anfragen',
};
