import { catalogue } from '../lib/i18n.js';
import { adminReportsDe } from './admin-reports.de.js';
import { adminReportsEn } from './admin-reports.en.js';

export const useAdminReports = catalogue(adminReportsEn, adminReportsDe);
