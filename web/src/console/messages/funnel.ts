import { catalogue } from '../lib/i18n.js';
import { funnelDe } from './funnel.de.js';
import { funnelEn } from './funnel.en.js';

export const useFunnel = catalogue(funnelEn, funnelDe);
