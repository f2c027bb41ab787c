export const liveEn = { reconnecting: 'Reconnecting …' };
