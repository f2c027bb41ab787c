import { de } from './de.js';
import { type Texts, en } from './en.js';

export type { Texts } from './en.js';

// A further language is a file like de.ts and an entry here.
const languages: Readonly<Record<string, Texts>> = { en, de };

/** The buyer's locale for numbers, dates and money, such as "de-AT". */
export const locale = pick().locale;

/** The texts in the buyer's language; English if there are none in any of his languages. */
export const t: Texts = pick().texts;

function pick(): { locale: string; texts: Texts } {
  for (const wanted of navigator.languages ?? [navigator.language]) {
    const texts = languages[wanted.toLowerCase().split('-')[0] ?? ''];
    if (texts) return { locale: wanted, texts };
  }

  return { locale: 'en', texts: en };
}
