/**
 * Removes the characters that change the direction of text (U+202A to U+202E, U+2066 to U+2069). Without its end mark, such a character
 * also reverses the text after it, even outside a <bdi> element.
 */
export function unmarked(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '');
}

/** Isolates a name within a sentence, for texts in which no <bdi> element can stand. */
export function isolate(name: string): string {
  return `\u2068${unmarked(name)}\u2069`;
}
