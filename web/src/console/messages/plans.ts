import { catalogue } from '../lib/i18n.js';
import { plansDe } from './plans.de.js';
import { plansEn } from './plans.en.js';

export const usePlans = catalogue(plansEn, plansDe);
