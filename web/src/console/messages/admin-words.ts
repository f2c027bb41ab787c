import { catalogue } from '../lib/i18n.js';
import { adminWordsDe } from './admin-words.de.js';
import { adminWordsEn } from './admin-words.en.js';

const useTexts = catalogue(adminWordsEn, adminWordsDe);

// Names the API's enums in the user's language. A value that this version doesn't know stays as it is.
export function useWord(): (value: string) => string {
  const text = useTexts();
  return (value) => {
    const key = value.toUpperCase();
    return key in adminWordsEn ? text(key as keyof typeof adminWordsEn) : value;
  };
}
