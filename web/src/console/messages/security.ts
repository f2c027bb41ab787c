import { catalogue } from '../lib/i18n.js';
import { securityDe } from './security.de.js';
import { securityEn } from './security.en.js';

export const useSecurity = catalogue(securityEn, securityDe);
