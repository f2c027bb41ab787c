import { catalogue } from '../lib/i18n.js';
import { adminImportDe } from './admin-import.de.js';
import { adminImportEn } from './admin-import.en.js';

export const useAdminImport = catalogue(adminImportEn, adminImportDe);
