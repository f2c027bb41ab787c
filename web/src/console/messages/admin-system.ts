import { catalogue } from '../lib/i18n.js';
import { adminSystemDe } from './admin-system.de.js';
import { adminSystemEn } from './admin-system.en.js';

export const useAdminSystem = catalogue(adminSystemEn, adminSystemDe);
