import { catalogue } from '../lib/i18n.js';
import { statesDe } from './states.de.js';
import { statesEn } from './states.en.js';

export const useStates = catalogue(statesEn, statesDe);
