import type { attachmentsEn } from './attachments.en.js';

export const attachmentsDe: Record<keyof typeof attachmentsEn, string> = {
  attach: 'Dateien anhängen', limits: 'Bis zu 10 Dateien mit je 10 MiB.', uploading: 'Wird hochgeladen', remove: '{name} entfernen', save: '{name} speichern',
  empty: 'Die Datei ist leer.', tooLarge: 'Die Datei ist größer als 10 MiB.', left: 'Nur 10 Dateien passen. {n} wurden nicht hinzugefügt.', removeIt: 'Entfernen Sie sie, um fortzufahren.', network: 'Der Server ist nicht erreichbar.',
};
