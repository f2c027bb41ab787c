import { catalogue } from '../lib/i18n.js';
import { consoleDe } from './console.de.js';
import { consoleEn } from './console.en.js';

export const useConsole = catalogue(consoleEn, consoleDe);
