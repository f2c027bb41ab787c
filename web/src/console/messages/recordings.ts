import { catalogue } from '../lib/i18n.js';
import { recordingsDe } from './recordings.de.js';
import { recordingsEn } from './recordings.en.js';

export const useRecordings = catalogue(recordingsEn, recordingsDe);
