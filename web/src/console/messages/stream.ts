import { catalogue } from '../lib/i18n.js';
import { streamDe } from './stream.de.js';
import { streamEn } from './stream.en.js';

export const useStreamTexts = catalogue(streamEn, streamDe);
