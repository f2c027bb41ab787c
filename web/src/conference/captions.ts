import type { Caption } from '../gen/api.js';
import { byId, el } from './dom.js';
import { captionsHidden, setCaptionsHidden } from './memory.js';

const shownMs = 7000; // after the last change of a sentence
const most = 3; // sentences at a time; the oldest goes first

/** The captions over the stage: the last sentences that were said, with their speakers. */
export class Captions {
  readonly #lines = new Map<string, { element: HTMLElement; final: boolean; timer: ReturnType<typeof setTimeout> | undefined }>();
  #heard = false;
  #hidden = captionsHidden();

  /** Whether there were captions in this room, so that it makes sense to hide them. */
  get heard(): boolean {
    return this.#heard;
  }

  get hidden(): boolean {
    return this.#hidden;
  }

  set hidden(is: boolean) {
    this.#hidden = is;
    setCaptionsHidden(is);
    this.#refresh();
  }

  /** Shows a caption in the place of that with the same key, unless that is final. */
  show({ userId, key, speaker, text, final }: Caption): void {
    this.#heard = true;
    const id = `${userId} ${key}`;
    let line = this.#lines.get(id);
    if (line?.final && !final) return;
    if (!line) {
      line = { element: el('p'), final, timer: undefined };
      this.#lines.set(id, line);
      byId('captions').append(line.element);
    }
    clearTimeout(line.timer);
    line.final = final;
    line.timer = setTimeout(() => this.#remove(id), shownMs);
    line.element.replaceChildren(el('b', {}, speaker), ` ${text}`);
    for (const oldest of this.#lines.keys()) if (this.#lines.size > most) this.#remove(oldest);
    this.#refresh();
  }

  close(): void {
    for (const id of [...this.#lines.keys()]) this.#remove(id);
  }

  #remove(id: string): void {
    const line = this.#lines.get(id);
    clearTimeout(line?.timer);
    line?.element.remove();
    this.#lines.delete(id);
    this.#refresh();
  }

  #refresh(): void {
    byId('captions').hidden = this.#hidden || this.#lines.size === 0;
  }
}
