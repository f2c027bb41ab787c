import { catalogue } from '../lib/i18n.js';
import { restreamDe } from './restream.de.js';
import { restreamEn } from './restream.en.js';

export const useRestream = catalogue(restreamEn, restreamDe);
