import { catalogue } from '../lib/i18n.js';
import { sellingDe } from './selling.de.js';
import { sellingEn } from './selling.en.js';

export const useSelling = catalogue(sellingEn, sellingDe);
