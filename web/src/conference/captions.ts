import type { Caption } from '../gen/api.js';
import { byId, el } from './dom.js';
import { captionsHidden, setCaptionsHidden } from './memory.js';

const shownMs = 7000; // after the last change of a sentence
const most = 3; // sentences at a time; the oldest goes first

/** The captions over the stage: the last sentences that were said, with their speakers. */
export class Captions {
  readonly #lines = new Map<string, { element: HTMLElement; timer: ReturnType<typeof setTimeout> }>();
  #heard = false;

  /** Whether there were captions in this room, so that it makes sense to hide them. */
  get heard(): boolean {
    return this.#heard;
  }

  get hidden(): boolean {
    return captionsHidden();
  }

  set hidden(is: boolean) {
    setCaptionsHidden(is);
    byId('captions').hidden = is || this.#lines.size === 0;
  }

  /** Shows a caption. One with the same key replaces that before, until the sentence is final. */
  show({ userId, key, speaker, text }: Caption): void {
    this.#heard = true;
    const id = `${userId} ${key}`;
    const line = this.#lines.get(id) ?? { element: el('p', {}), timer: undefined };
    clearTimeout(line.timer);
    line.element.replaceChildren(el('b', {}, speaker), ` ${text}`);
    this.#lines.set(id, { element: line.element, timer: setTimeout(() => this.#remove(id), shownMs) });
    for (const oldest of this.#lines.keys()) if (this.#lines.size > most) this.#remove(oldest);
    byId('captions').append(line.element);
    this.hidden = this.hidden;
  }

  close(): void {
    for (const id of [...this.#lines.keys()]) this.#remove(id);
  }

  #remove(id: string): void {
    const line = this.#lines.get(id);
    clearTimeout(line?.timer);
    line?.element.remove();
    this.#lines.delete(id);
    byId('captions').hidden = this.hidden || this.#lines.size === 0;
  }
}
