import type { changesEn } from './changes.en.js';

export const changesDe: Record<keyof typeof changesEn, string> = { field: 'Feld', before: 'Vorher', after: 'Nachher' };
