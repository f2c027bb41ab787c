import { problemsDe } from '../messages/problems.de.js';
import { problemsEn } from '../messages/problems.en.js';
import type { Problem } from './api.js';
import { currentLanguage } from './i18n.js';

// The sentence for a problem in the user's language, and the server's message if it says more.
export function problemText({ code, message }: Problem): { text: string; detail: string } {
  const text = (currentLanguage() === 'de' ? problemsDe : problemsEn)[code];
  return text ? { text, detail: message } : { text: message, detail: '' };
}
