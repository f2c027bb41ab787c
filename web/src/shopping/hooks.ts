import { useEffect, useRef, useState } from 'preact/hooks';

/** A source of changes, such as a Cart. */
interface Source {
  on(name: 'change', listener: () => void): () => void;
}

/** Draws the component again after changes of a source, at most once for each frame of the screen. */
export function useChanges(source: Source): void {
  const [, draw] = useState(0);
  useEffect(() => {
    let frame: ReturnType<typeof setTimeout> | undefined;
    const off = source.on('change', () => {
      frame ??= setTimeout(() => {
        frame = undefined;
        draw((before) => before + 1);
      }, 16); // not requestAnimationFrame, which pauses in hidden windows
    });
    draw((before) => before + 1); // for changes before this effect

    return () => {
      clearTimeout(frame);
      off();
    };
  }, [source]);
}

/** Draws the component again every `ms` milliseconds; null for never. */
export function useTick(ms: number | null): void {
  const [, draw] = useState(0);
  useEffect(() => {
    if (ms === null) return undefined;
    const timer = setInterval(() => draw((before) => before + 1), ms);

    return () => clearInterval(timer);
  }, [ms]);
}

/** Whether a media query is true. */
export function useMedia(query: string): boolean {
  const [is, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const changed = (): void => set(list.matches);
    changed();
    list.addEventListener('change', changed);

    return () => list.removeEventListener('change', changed);
  }, [query]);

  return is;
}

/** Whether the browser has a network. */
export function useOnline(): boolean {
  const [is, set] = useState(navigator.onLine);
  useEffect(() => {
    const changed = (): void => set(navigator.onLine);
    addEventListener('online', changed);
    addEventListener('offline', changed);

    return () => {
      removeEventListener('online', changed);
      removeEventListener('offline', changed);
    };
  }, []);

  return is;
}

/** The value of the drawing before; undefined in the first one. */
export function usePrevious<Value>(value: Value): Value | undefined {
  const ref = useRef<Value | undefined>(undefined);
  const before = ref.current;
  useEffect(() => {
    ref.current = value;
  });

  return before;
}
