import { catalogue } from '../lib/i18n.js';
import { adminDe } from './admin.de.js';
import { adminEn } from './admin.en.js';

export const useAdmin = catalogue(adminEn, adminDe);
