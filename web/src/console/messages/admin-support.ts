import { catalogue } from '../lib/i18n.js';
import { adminSupportDe } from './admin-support.de.js';
import { adminSupportEn } from './admin-support.en.js';

export const useAdminSupport = catalogue(adminSupportEn, adminSupportDe);
