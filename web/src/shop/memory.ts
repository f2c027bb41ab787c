/** A place for small values. Values that a browser refuses to store are kept until the page is closed. */
export interface Memory {
  /** Whether values outlive the page. */
  readonly lasting: boolean;
  get<Value>(key: string): Value | undefined;
  /** Stores a value; undefined removes it. */
  set(key: string, value: unknown): void;
}

/** Makes a Memory of a browser's storage, such as `() => sessionStorage`. It also works where storage is blocked. */
export function memoryOf(storage: () => Storage, prefix = 'showfloor.'): Memory {
  const kept = new Map<string, string>();
  let opened: Storage | undefined;
  try {
    opened = storage();
    opened.setItem(`${prefix}probe`, '1');
    opened.removeItem(`${prefix}probe`);
  } catch {
    opened = undefined; // blocked, or full
  }

  return {
    lasting: opened !== undefined,
    get<Value>(key: string): Value | undefined {
      const text = kept.get(key) ?? quietly(() => opened?.getItem(prefix + key)) ?? undefined;

      return text === undefined ? undefined : quietly(() => JSON.parse(text) as Value);
    },
    set(key, value) {
      if (value === undefined) {
        kept.delete(key);
        quietly(() => opened?.removeItem(prefix + key));

        return;
      }
      const text = JSON.stringify(value);
      kept.set(key, text);
      quietly(() => opened?.setItem(prefix + key, text));
    },
  };
}

function quietly<Value>(act: () => Value): Value | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
