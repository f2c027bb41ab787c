import { catalogue } from '../lib/i18n.js';
import { usageDe } from './usage.de.js';
import { usageEn } from './usage.en.js';

export const useUsage = catalogue(usageEn, usageDe);
