import { catalogue } from '../lib/i18n.js';
import { pushDe } from './push.de.js';
import { pushEn } from './push.en.js';

export const usePush = catalogue(pushEn, pushDe);
