import { catalogue } from '../lib/i18n.js';
import { adminAccessDe } from './admin-access.de.js';
import { adminAccessEn } from './admin-access.en.js';

export const useAdminAccess = catalogue(adminAccessEn, adminAccessDe);
