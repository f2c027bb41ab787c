import { catalogue } from '../lib/i18n.js';
import { analyticsDe } from './analytics.de.js';
import { analyticsEn } from './analytics.en.js';

export const useAnalytics = catalogue(analyticsEn, analyticsDe);
