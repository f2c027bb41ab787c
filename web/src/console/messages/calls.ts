import { catalogue } from '../lib/i18n.js';
import { callsDe } from './calls.de.js';
import { callsEn } from './calls.en.js';

export const useCalls = catalogue(callsEn, callsDe);
