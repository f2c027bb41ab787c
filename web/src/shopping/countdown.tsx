import type { VNode } from 'preact';

import { timeLeft } from './dates.js';
import { useTick } from './hooks.js';
import { useShop } from './shop.js';

/** The time until a moment by the server's clock. With `tenths` the last minute has tenths of a second. */
export function Countdown({ until, tenths = false }: { until: string; tenths?: boolean }): VNode {
  const { clock } = useShop();
  const left = clock.left(until);
  useTick(left === 0 ? null : tenths && left < 61_000 ? 100 : 500);

  // A timer is read when a reader asks for it, not ten times a second.
  return <time class={left < 10_000 ? 'countdown last' : 'countdown'} role="timer" aria-live="off">{timeLeft(left, tenths)}</time>;
}

/** Whether a moment has passed by the server's clock. Draws the component again then. */
export function usePassed(until: string): boolean {
  const { clock } = useShop();
  const passed = clock.left(until) === 0;
  useTick(passed ? null : 250);

  return passed;
}
