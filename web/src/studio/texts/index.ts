import { t } from '../../shopping/texts/index.js';
import { de } from './de.js';
import { type Texts, en } from './en.js';

// The language is that of the shopping page's texts, so that a page has one language.
const languages: Readonly<Record<string, Texts>> = { en, de };

/** The studio's texts in the host's language. */
export const s: Texts = languages[t.language] ?? en;
