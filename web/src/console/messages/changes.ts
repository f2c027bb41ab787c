import { catalogue } from '../lib/i18n.js';
import { changesDe } from './changes.de.js';
import { changesEn } from './changes.en.js';

export const useChanges = catalogue(changesEn, changesDe);
