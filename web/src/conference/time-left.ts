import { byId } from './dom.js';
import type { Notices } from './notices.js';

const lastMinuteMs = 60_000;

/** Shows how long a breakout room stays open, and announces the last minute. Screen readers don't read each second. */
export class TimeLeft {
  readonly #element = byId('time-left');
  readonly #ticking: ReturnType<typeof setInterval>;
  #announced = false;

  /**
   * @param closesAt when the room closes, in milliseconds since 1970
   * @param now the server's time, in the same unit
   */
  constructor(
    private readonly closesAt: number,
    private readonly now: () => number,
    private readonly notices: Notices,
  ) {
    this.#ticking = setInterval(() => this.#show(), 1000);
    this.#show();
  }

  stop(): void {
    clearInterval(this.#ticking);
    this.#element.hidden = true;
  }

  #show(): void {
    const left = Math.max(this.closesAt - this.now(), 0);
    this.#element.hidden = false;
    this.#element.textContent = `${clock(left)} left`;
    this.#element.classList.toggle('soon', left <= lastMinuteMs);
    if (left > lastMinuteMs || this.#announced) return;
    this.#announced = true;
    this.notices.say('This breakout room closes in less than a minute. Then you return to the main room.');
  }
}

/** clock returns a duration in milliseconds as minutes and seconds, such as "4:05", or with hours, such as "1:04:05". */
function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] ? parts : parts.slice(1);

  return shown.map((part, i) => (i > 0 ? String(part).padStart(2, '0') : String(part))).join(':');
}
