import { useRef, useState } from 'preact/hooks';

import { asApiError, newKey } from '../shop/index.js';
import { useStudio } from './studio.js';

/**
 * Runs one act of the host at a time. A refusal is shown. `key` is the Idempotency-Key: it stays the same until the server has
 * answered, so that a repeated click after a network error isn't a second act.
 */
export function useAct(): { busy: boolean; act: (run: (key: string) => Promise<unknown>) => Promise<boolean> } {
  const { refuse } = useStudio();
  const [busy, setBusy] = useState(false);
  const running = useRef(false);
  const key = useRef<string | undefined>(undefined);
  const act = async (run: (key: string) => Promise<unknown>): Promise<boolean> => {
    if (running.current) return false;
    running.current = true;
    setBusy(true);
    key.current ??= newKey();
    try {
      await run(key.current);
      key.current = undefined;

      return true;
    } catch (thrown) {
      const error = asApiError(thrown);
      if (error.status >= 400 && error.status < 500) key.current = undefined;
      refuse(error);

      return false;
    } finally {
      running.current = false;
      setBusy(false);
    }
  };

  return { busy, act };
}
