import { catalogue } from '../lib/i18n.js';
import { commonDe } from './common.de.js';
import { commonEn } from './common.en.js';

export const useCommon = catalogue(commonEn, commonDe);
