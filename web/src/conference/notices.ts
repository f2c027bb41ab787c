import { byId, el, icon } from './dom.js';

/** A button in a notice. */
export interface Action {
  label: string;
  run: () => void;
}

const shownMs = 6000;

/** Notices above the stage, which screen readers read as well. */
export class Notices {
  readonly #list = byId('notices');
  readonly #named = new Map<string, HTMLElement>();

  /** Shows a notice for shownMs, or twice as long if it has buttons. */
  say(text: string, actions: Action[] = []): void {
    if (!text) return;
    const notice = this.#make(text, actions, () => notice.remove());
    this.#list.append(notice);
    setTimeout(() => notice.remove(), actions.length > 0 ? 2 * shownMs : shownMs);
  }

  /** Shows a notice until drop(name). A new notice with the same name replaces it. */
  keep(name: string, text: string, actions: Action[] = [], onDismiss?: () => void): void {
    const notice = this.#make(text, actions, onDismiss && (() => {
      this.drop(name);
      onDismiss();
    }));
    const before = this.#named.get(name);
    if (before?.isConnected) before.replaceWith(notice);
    else this.#list.append(notice);
    this.#named.set(name, notice);
  }

  /** Removes the notice with this name. */
  drop(name: string): void {
    this.#named.get(name)?.remove();
    this.#named.delete(name);
  }

  clear(): void {
    this.#named.clear();
    this.#list.replaceChildren();
  }

  #make(text: string, actions: Action[], dismiss?: () => void): HTMLElement {
    return el(
      'div',
      { class: 'notice' },
      el('p', {}, text),
      ...actions.map(({ label, run }) =>
        el('button', {
          type: 'button',
          onclick: (event: Event) => {
            (event.currentTarget as HTMLElement).closest('.notice')?.remove();
            run();
          },
        }, label)),
      dismiss && el('button', { type: 'button', class: 'quiet', 'aria-label': 'Dismiss', onclick: dismiss }, icon('close')),
    );
  }
}
