/**
 * Removes the marks of direction from a text that stands beside others on a line. One without an end would turn them around, also out
 * of a <bdi> element.
 */
export function unmarked(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '');
}

/** Isolates a name within a sentence, for texts in which no <bdi> element can stand. */
export function isolate(name: string): string {
  return `\u2068${unmarked(name)}\u2069`;
}
