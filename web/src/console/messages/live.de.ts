import type { liveEn } from './live.en.js';

export const liveDe: Record<keyof typeof liveEn, string> = { reconnecting: 'Verbindung wird wiederhergestellt …' };
