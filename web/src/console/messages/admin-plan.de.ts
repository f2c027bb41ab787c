import type { adminPlanEn } from './admin-plan.en.js';

export const adminPlanDe: Record<keyof typeof adminPlanEn, string> = {
  offer: 'Angebot und Preise', limits: 'Grenzen', allowances: 'Enthaltene Nutzung eines Zeitraums', description: 'Beschreibung',
  priceCents: 'Preis im Monat, in {currency} ohne Steuer', yearlyPriceCents: 'Preis im Jahr, in {currency} ohne Steuer',
  noYear: 'Nicht jährlich buchbar', trialDays: 'Kostenlose Testphase, in Tagen', noLimit: 'Keine Grenze', unlimited: 'Nicht begrenzt',
  offerText: 'Preise und Testphase gelten für Abonnements, die ab jetzt beginnen. Laufende Abonnements behalten ihren Preis.',
  limitsText: 'Grenzen gelten für alle Mandanten mit diesem Tarif: sofort, die für Zuschauer und gespeicherte Daten binnen 10 Sekunden. Was über einer kleineren Grenze liegt, bleibt dem Mandanten; nur Neues wird abgelehnt. Ohne Grenze gilt die des Servers.',
  allowancesText: 'Enthaltene Nutzung und Preise gelten binnen 10 Sekunden für alle Mandanten mit diesem Tarif. Die neuen Bedingungen zählen für deren ganzen laufenden Zeitraum, ein gespeicherter Betrag sinkt aber nie. Nutzung ohne Zahl ist nicht begrenzt und kostet nichts.',
  maxUsers: 'Benutzer und offene Einladungen', maxApiKeys: 'API-Schlüssel', maxLiveStreams: 'Streams gleichzeitig auf Sendung',
  maxViewers: 'Zuschauer gleichzeitig, über alle Streams', maxSessionCapacity: 'Teilnehmer einer Sitzung',
  maxWebhookEndpoints: 'Webhook-Endpunkte', maxRestreamTargets: 'Weiterleitungsziele eines Streams',
  recordingRetentionDays: 'Aufzeichnungen bleiben, in Tagen', maxCaptureBytes: 'Vom Webhook-Tester aufgezeichnete Anfragen, in MiB',
  maxProcessorCalls: 'Aufrufe beim Zahlungsdienst pro Minute', maxWrittenBytes: 'Von Anfragen gespeicherte Daten pro Stunde, in MiB',
  atLeast: 'Mindestens {n}', included: 'Enthalten, {unit}', MINUTES: 'in Minuten', BYTES: 'in GB', PUSHES: 'Anzahl', overage: 'Darüber',
  ALLOW: 'Ohne Kosten erlauben', CHARGE: 'Berechnen', BLOCK: 'Neues ablehnen', overagePriceCents: 'Preis, in {currency} ohne Steuer',
  overageUnits: 'Je angefangene, {unit}', terms: '{included}, dann: {overage}', charge: '{price} je {units}',
  tier: 'Stufe', product: 'Produkt beim Zahlungsdienst', changed: 'Letzte Änderung', readOnly: 'Ihre Rolle kann den Tarif lesen, aber nicht ändern.',
};
