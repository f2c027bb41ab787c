import { catalogue } from '../lib/i18n.js';
import { adminPlanDe } from './admin-plan.de.js';
import { adminPlanEn } from './admin-plan.en.js';

export const useAdminPlan = catalogue(adminPlanEn, adminPlanDe);
