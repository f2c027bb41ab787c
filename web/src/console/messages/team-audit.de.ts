import type { teamAuditEn } from './team-audit.en.js';

export const teamAuditDe: Record<keyof typeof teamAuditEn, string> = {
  title: 'Protokoll', action: 'Vorgang', actor: 'Urheber', entity: 'Art des Objekts', object: 'Objekt', at: 'Zeit', from: 'Von', to: 'Bis', details: 'Einzelheiten',
  noEntries: 'Es gibt keine Einträge. Mit Filtern kann die nächste Seite welche haben.', noValues: 'Der Eintrag hat keine Werte.',
  impersonated: 'Ein Admin der Plattform handelte als dieser Benutzer.', ip: 'Adresse', request: 'Anfrage', user: 'Benutzer', api_key: 'API-Schlüssel', participant: 'Teilnehmer',
  admin: 'Admin der Plattform', system: 'System', actorHint: 'ID eines Benutzers oder Schlüssels',
};
