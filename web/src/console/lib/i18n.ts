import { useSyncExternalStore } from 'react';

export type Language = 'en' | 'de';
export const languages: { value: Language; label: string }[] = [{ value: 'en', label: 'English' }, { value: 'de', label: 'Deutsch' }];

const storageKey = 'showfloor-language';
const listeners = new Set<() => void>();
let language: Language = chosen() ?? (navigator.language.startsWith('de') ? 'de' : 'en');
document.documentElement.lang = language;

function chosen(): Language | null {
  try {
    const kept = localStorage.getItem(storageKey);
    return kept === 'en' || kept === 'de' ? kept : null;
  } catch {
    return null; // the browser forbids storage
  }
}

export function setLanguage(next: Language) {
  language = next;
  document.documentElement.lang = next;
  try {
    localStorage.setItem(storageKey, next);
  } catch {
    // The choice lasts until the page is closed.
  }
  for (const listener of listeners) listener();
}

export function currentLanguage(): Language {
  return language;
}

export function useLanguage(): Language {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, currentLanguage);
}

export type Values = Record<string, string | number>;

// Texts of one area. German has the keys of English: the compiler refuses a missing one. Each language has a function of its own,
// so a memo that depends on the function is made again in another language.
export function catalogue<const T extends Record<string, string>>(en: T, de: Record<keyof T, string>) {
  const textsOf = (words: Record<keyof T, string>) => (key: keyof T, values: Values = {}): string => (
    words[key]!.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
  );
  const texts = { en: textsOf(en), de: textsOf(de) };
  return function useTexts() {
    return texts[useLanguage()];
  };
}
