// The API shows the whole key of a stream or an app only in the answer that creates or replaces it. It is kept by the id of its owner, for
// the owner's page, until the console is closed.
const keys = new Map<string, string>();

export function keepNewKey(owner: string, key: string) {
  keys.set(owner, key);
}

export const newKeyOf = (owner: string): string | null => keys.get(owner) ?? null;
