import { catalogue } from '../lib/i18n.js';
import { breakoutsDe } from './breakouts.de.js';
import { breakoutsEn } from './breakouts.en.js';

export const useBreakouts = catalogue(breakoutsEn, breakoutsDe);
