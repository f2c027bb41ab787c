import { catalogue } from '../lib/i18n.js';
import { impersonationDe } from './impersonation.de.js';
import { impersonationEn } from './impersonation.en.js';

export const useImpersonation = catalogue(impersonationEn, impersonationDe);
