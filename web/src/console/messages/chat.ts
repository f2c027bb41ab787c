import { catalogue } from '../lib/i18n.js';
import { chatDe } from './chat.de.js';
import { chatEn } from './chat.en.js';

export const useChat = catalogue(chatEn, chatDe);
