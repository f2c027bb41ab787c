import type { adminTenantEn } from './admin-tenant.en.js';

export const adminTenantDe: Record<keyof typeof adminTenantEn, string> = {
  actAsApp: 'Als App handeln', actAsAppText: 'Ein neuer Tab öffnet sich, in dem Sie 30 Minuten lang als die App handeln. Das steht im Protokoll, ebenso jede Ihrer Änderungen.',
  impersonate: 'Als Benutzer handeln',
  impersonateText: 'Ein neuer Tab öffnet sich, in dem Sie 30 Minuten lang als Benutzer des Mandanten handeln. Der Grund und jede Ihrer Änderungen stehen im Protokoll. Schlüssel und Streams anlegen, Passwörter und Team ändern, Anfragen schreiben und Geld bewegen sind gesperrt.',
  impersonateUser: 'Benutzer', firstOwner: 'Dienstältester Inhaber', openedTab: 'Die Konsole ist in einem neuen Tab offen.',
  blockedTab: 'Der Browser hat den neuen Tab verhindert. Erlauben Sie Pop-ups für diese Seite und versuchen Sie es erneut.',
  compliance: 'Compliance', complianceOf: 'Compliance von {name}', legalHold: 'Gesetzliche Aufbewahrung',
  legalHoldText: 'Nichts des Mandanten wird gelöscht, weder automatisch noch durch Benutzer oder Admins, bis die Sperre aufgehoben ist.',
  verification: 'Identität', risk: 'Risiko', country: 'Land', countryHint: 'Zwei Buchstaben, etwa DE', region: 'Datenregion',
  dpaSigned: 'Auftragsverarbeitung unterzeichnet', termsVersion: 'Angenommene Bedingungen', termsAccepted: 'Bedingungen angenommen',
  nextReview: 'Nächste Prüfung', reviewed: 'Zuletzt geschrieben', notes: 'Notizen für Admins', reasonLog: 'Grund für das Protokoll',
  yes: 'Ja', no: 'Nein', tenant: 'Mandant', verified: 'Geprüft', unverified: 'Ungeprüft', pending: 'In Prüfung', rejected: 'Abgelehnt',
  highRisk: 'Hohes Risiko', onHold: 'Mit Aufbewahrungspflicht', reviewsDue: 'Fällige Prüfungen', withoutDpa: 'Ohne Vertrag',
  recordsEmpty: 'Es gibt keine Mandanten.',
  extendTrial: 'Testphase verlängern',
  extendText: 'Das Ende der Testphase und die erste Abbuchung verschieben sich. Eine Testphase dauert höchstens 180 Tage.', days: 'Tage',
  retention: 'Aufbewahrung', retentionText: 'Die Aufzeichnung wird zu dieser Zeit automatisch gelöscht. Ohne Angabe bleibt sie erhalten.',
  retainUntil: 'Aufbewahren bis', tickets: 'Anfragen', recordings: 'Aufzeichnungen', streams: 'Streams', lastUsed: 'Zuletzt benutzt',
  readOnly: 'Der Mandant ist gesperrt: Der Tab kann nur lesen.',
  keepHold: 'Gesetzliche Aufbewahrung: Die Aufzeichnung darf nicht gelöscht werden',
};
