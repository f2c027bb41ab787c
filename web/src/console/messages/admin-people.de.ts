import type { adminPeopleEn } from './admin-people.en.js';

export const adminPeopleDe: Record<keyof typeof adminPeopleEn, string> = {
  gone: 'Es gibt diesen Benutzer nicht oder nicht mehr.', toUsers: 'Zu den Benutzern', remove: 'Löschen',
  removeText: 'Die Token des Benutzers werden sofort abgelehnt, und die E-Mail-Adresse wird wieder frei. API-Schlüssel des Benutzers '
    + 'bleiben gültig. Das lässt sich nicht rückgängig machen.',
  removeInvited: 'Die Einladung wird gelöscht, und ihr Link gilt nicht mehr. Das lässt sich nicht rückgängig machen.',
  resetText: 'Das alte Passwort gilt nicht mehr, und die Token des Benutzers werden sofort abgelehnt. Der Benutzer bekommt per Mail '
    + 'einen Link, der eine Stunde lang gilt.',
  profile: 'Benutzer', id: 'Id', changed: 'Geändert', actionsBy: 'Letzte Aktionen des Benutzers',
  changesOf: 'Letzte Änderungen am Benutzer', noActions: 'Im Protokoll steht keine Aktion des Benutzers.',
  noChanges: 'Am Benutzer wurde nichts geändert.', all: 'Alle im Protokoll',
  invited: 'Der Benutzer hat die Einladung noch nicht angenommen. Sie lässt sich nur löschen.',
  roles: 'Rollen von Admins', tenantRoles: 'Rollen in Mandanten', may: 'Darf', area: 'Bereich', yes: 'Ja', reads: 'Lesen',
  changes: 'Ändern', readsAndChanges: 'Lesen und ändern',
  keyNote: 'Rollen sind fest. Ein API-Schlüssel hat die Rechte eines Entwicklers oder weniger.',
  admin_read: 'Alles lesen', admin_write: 'Mandanten, Benutzer, Streams und Einstellungen ändern',
  admin_support: 'Anfragen bearbeiten', admin_billing: 'Tarife, Abonnements und Abrechnung ändern',
  account: 'Konto und Zahlen', tenant: 'Einstellungen und Protokoll des Mandanten', team: 'Team', streams: 'Streams',
  recordings: 'Aufzeichnungen', chat: 'Chat', sessions: 'Sitzungen und Anrufe', catalog: 'Katalog',
  commerce: 'Bestellungen und Zahlungen', restream: 'Weiterleitungen', push: 'Push', keys: 'API-Schlüssel',
  webhooks: 'Webhooks und Ereignisse', billing: 'Abrechnung', support: 'Anfragen an den Support',
};
