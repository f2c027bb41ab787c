import { catalogue } from '../lib/i18n.js';
import { hooksDe } from './hooks.de.js';
import { hooksEn } from './hooks.en.js';

export const useHooks = catalogue(hooksEn, hooksDe);
