import type { adminWordsEn } from './admin-words.en.js';

export const adminWordsDe: Record<keyof typeof adminWordsEn, string> = {
  TRIAL: 'Testphase', ACTIVE: 'Aktiv', PAST_DUE: 'Zahlung überfällig', SUSPENDED: 'Gesperrt', CANCELLED: 'Gekündigt',
  CANCELED: 'Abgebrochen', FREE: 'Free', STARTER: 'Starter', PRO: 'Pro', ENTERPRISE: 'Enterprise', IDLE: 'Nie auf Sendung',
  LIVE: 'Auf Sendung', RECONNECTING: 'Verbindet neu', ENDED: 'Beendet', OFFLINE: 'Offline', GOOD: 'Gut', STALLED: 'Stockt',
  REJECTED: 'Abgelehnt', LOW_LATENCY: 'Geringe Latenz', STANDARD: 'Standard', RTMP: 'RTMP', WEBRTC: 'WebRTC', SRS: 'SRS',
  SESSION: 'Sitzung', HLS: 'HLS', LL_HLS: 'HLS mit geringer Latenz', RESTREAM: 'Weiterleitung', RECORDING: 'Aufzeichnung',
  PROCESSING: 'Wird verarbeitet', READY: 'Fertig', FAILED: 'Fehlgeschlagen', DELETED: 'Gelöscht', VIDEO: 'Bild', AUDIO: 'Ton',
  ROTATED: 'Ersetzt', REVOKED: 'Widerrufen', EXPIRED: 'Abgelaufen', OPEN: 'Offen', PENDING: 'Wartet', RESOLVED: 'Gelöst',
  CLOSED: 'Geschlossen', LOW: 'Niedrig', NORMAL: 'Normal', MEDIUM: 'Mittel', HIGH: 'Hoch', URGENT: 'Dringend', DRAFT: 'Entwurf',
  PUBLISHED: 'Veröffentlicht', ARCHIVED: 'Archiviert', INFO: 'Information', WARNING: 'Warnung', CRITICAL: 'Kritisch',
  UNVERIFIED: 'Ungeprüft', VERIFIED: 'Geprüft', DELIVERED: 'Zugestellt', RETRYING: 'Wird wiederholt', DISABLED: 'Abgeschaltet',
  SCHEDULED: 'Geplant', QUEUED: 'In der Schlange', RUNNING: 'Läuft', COMPLETED: 'Erledigt', OK: 'In Ordnung', FAILING: 'Gestört',
  API: 'API', INGEST: 'Empfang', SFU: 'SFU', WORKER: 'Aufgaben', TRIALING: 'Testphase', PAUSED: 'Pausiert',
  INCOMPLETE: 'Unvollständig', UNPAID: 'Unbezahlt', STREAMS: 'Sendungen', SESSIONS: 'Sitzungen', CALLS: 'Anrufe',
  CHAT: 'Chatnachrichten', RECORDINGS: 'Aufzeichnungen', ORDERS: 'Bezahlte Bestellungen', AUCTIONS: 'Auktionen',
  RESTREAMS: 'Weiterleitungen', PUSHES: 'Push-Nachrichten', DELIVERIES: 'Webhook-Zustellungen', WAITING: 'Wartet', USER: 'Benutzer',
  API_KEY: 'API-Schlüssel', PARTICIPANT: 'Teilnehmer', ADMIN: 'Admin', SYSTEM: 'Server', INVITED: 'Eingeladen',
  DEACTIVATED: 'Deaktiviert', OWNER: 'Inhaber', DEVELOPER: 'Entwickler', VIEWER: 'Betrachter', SUPER_ADMIN: 'Hauptadmin',
  SUPPORT: 'Support', BILLING: 'Abrechnung', MONTH: 'Monat', YEAR: 'Jahr',
  TENANT: 'Mandant', PAID: 'Bezahlt', UNCOLLECTIBLE: 'Uneinbringlich', VOID: 'Storniert', INACTIVE: 'Nicht angeboten',
};
