import type { impersonationEn } from './impersonation.en.js';

export const impersonationDe: Record<keyof typeof impersonationEn, string> = {
  banner: 'Ein Admin der Plattform handelt als {name}', left: 'noch {minutes} Min.', end: 'Zugriff beenden', readOnly: 'Nur Lesen ist erlaubt.',
  limits: 'Geheimnisse, neue Streams, Anrufe, Links zu Räumen, Zustelladressen, Anfragen, Team und Geld sind gesperrt.', admin: 'Admin',
  endText: 'Das Beenden widerruft den Zugriff. Sonst läuft er nach höchstens 30 Minuten ab.',
};
