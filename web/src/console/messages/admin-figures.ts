import { catalogue } from '../lib/i18n.js';
import { adminFiguresDe } from './admin-figures.de.js';
import { adminFiguresEn } from './admin-figures.en.js';

export const useAdminFigures = catalogue(adminFiguresEn, adminFiguresDe);
