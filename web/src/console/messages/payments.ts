import { catalogue } from '../lib/i18n.js';
import { paymentsDe } from './payments.de.js';
import { paymentsEn } from './payments.en.js';

export const usePayments = catalogue(paymentsEn, paymentsDe);
