const asleepMs = 30_000;
const checkMs = 5_000;
const clockJumpMs = 2_000;

/**
 * Calls `woke` when the state on the page may be out of date: the page was hidden or the device asleep for more than 30 s, the
 * network is back, or the device's clock was changed.
 *
 * @returns a function that stops it
 */
export function watchSleep(woke: () => void): () => void {
  let hiddenAt = document.visibilityState === 'hidden' ? Date.now() : undefined;
  let last = Date.now();
  let drift = Date.now() - performance.now();
  const look = (): void => {
    if (document.visibilityState === 'hidden') return; // timers of hidden pages are late; `seen` follows
    const now = Date.now();
    const jumped = Math.abs(now - performance.now() - drift) > clockJumpMs;
    const slept = now - last > asleepMs;
    drift = now - performance.now();
    last = now;
    if (jumped || slept) woke();
  };
  const timer = setInterval(look, checkMs);
  const seen = (): void => {
    if (document.visibilityState === 'hidden') {
      hiddenAt = Date.now();

      return;
    }
    const away = hiddenAt === undefined ? 0 : Date.now() - hiddenAt;
    hiddenAt = undefined;
    last = Date.now();
    if (away > asleepMs) drift = last - performance.now(); // otherwise `look` would report the same sleep again
    if (away > asleepMs) woke();
  };
  const restored = (event: PageTransitionEvent): void => {
    if (event.persisted) woke();
  };
  document.addEventListener('visibilitychange', seen);
  document.addEventListener('resume', look); // the end of a freeze
  addEventListener('online', woke);
  addEventListener('pageshow', restored);

  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', seen);
    document.removeEventListener('resume', look);
    removeEventListener('online', woke);
    removeEventListener('pageshow', restored);
  };
}
