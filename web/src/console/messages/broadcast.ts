import { catalogue } from '../lib/i18n.js';
import { broadcastDe } from './broadcast.de.js';
import { broadcastEn } from './broadcast.en.js';

export const useBroadcast = catalogue(broadcastEn, broadcastDe);
