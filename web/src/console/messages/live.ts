import { catalogue } from '../lib/i18n.js';
import { liveDe } from './live.de.js';
import { liveEn } from './live.en.js';

export const useLive = catalogue(liveEn, liveDe);
