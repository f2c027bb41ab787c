import { catalogue } from '../lib/i18n.js';
import { supportDe } from './support.de.js';
import { supportEn } from './support.en.js';

export const useSupport = catalogue(supportEn, supportDe);
