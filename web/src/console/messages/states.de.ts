import type { statesEn } from './states.en.js';

export const statesDe: Record<keyof typeof statesEn, string> = {
  STREAM_MINUTES: 'Minuten auf Sendung', VIEWER_MINUTES: 'Gesehene Minuten', PARTICIPANT_MINUTES: 'Minuten der Teilnehmer', RECORDING_MINUTES: 'Aufgezeichnete Minuten',
  STORAGE_BYTES: 'Speicher', EGRESS_BYTES: 'Gesendete Daten', TRANSCODE_MINUTES: 'Umgerechnete Minuten', PUSHES: 'Push-Nachrichten',
  IDLE: 'Nicht auf Sendung', LIVE: 'Auf Sendung', RECONNECTING: 'Verbindet neu', ENDED: 'Beendet',
  OFFLINE: 'Offline', GOOD: 'Gut', STALLED: 'Stockt', REJECTED: 'Abgelehnt',
  TRIAL: 'Testphase', ACTIVE: 'Aktiv', PAST_DUE: 'Zahlung fällig', SUSPENDED: 'Gesperrt',
  CANCELLED: 'Gekündigt', TRIALING: 'Testphase', PAUSED: 'Pausiert', CANCELED: 'Gekündigt',
  INCOMPLETE: 'Zahlung fehlt', UNPAID: 'Unbezahlt', REVOKED: 'Widerrufen', DISABLED: 'Pausiert', INVITED: 'Eingeladen', DEACTIVATED: 'Deaktiviert',
  OWNER: 'Inhaber', ADMIN: 'Admin', DEVELOPER: 'Entwickler', VIEWER: 'Betrachter', FREE: 'Free', STARTER: 'Starter', PRO: 'Pro', ENTERPRISE: 'Enterprise',
  DRAFT: 'Entwurf', OPEN: 'Offen', PAID: 'Bezahlt', UNCOLLECTIBLE: 'Uneinbringlich', VOID: 'Storniert',
  RECORDING: 'Wird aufgezeichnet', PROCESSING: 'Wird aufbereitet', READY: 'Fertig', FAILED: 'Fehlgeschlagen', DELETED: 'Gelöscht',
};
