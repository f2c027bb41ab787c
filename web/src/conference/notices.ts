import { byId, el, icon } from './dom.js';

/** A button in a notice. */
export interface Action {
  label: string;
  run: () => void;
}

const shownMs = 6000;

/** The optional parts of a kept notice. */
interface Extra {
  /** Called when the user dismisses the notice. Without it the notice has no button for that. */
  onDismiss?: () => void;
  /** The end of the text, such as "9 s". Screen readers don't read its changes. */
  timer?: string;
}

interface Kept {
  element: HTMLElement;
  text: HTMLElement;
  timer: HTMLElement;
  actions: Action[];
}

/** Notices above the stage, which screen readers read as well. */
export class Notices {
  readonly #list = byId('notices');
  readonly #kept = new Map<string, Kept>();

  /** Shows a notice for shownMs, or twice as long if it has buttons. */
  say(text: string, actions: Action[] = []): void {
    if (!text) return;
    const { element } = make(text, actions, () => element.remove());
    this.#list.append(element);
    setTimeout(() => element.remove(), actions.length > 0 ? 2 * shownMs : shownMs);
  }

  /**
   * Shows a notice until drop(name). A notice that is shown under this name gets the new text, and keeps its buttons with
   * the focus if they have the same labels.
   */
  keep(name: string, text: string, actions: Action[] = [], { onDismiss, timer = '' }: Extra = {}): void {
    const before = this.#kept.get(name);
    const sameButtons = before?.element.isConnected && labels(before.actions) === labels(actions);
    if (before && sameButtons) {
      before.actions.splice(0, actions.length, ...actions);
      write(before, text, timer);

      return;
    }
    const notice = make(text, [...actions], onDismiss && (() => {
      this.drop(name);
      onDismiss();
    }));
    write(notice, text, timer);
    if (before?.element.isConnected) before.element.replaceWith(notice.element);
    else this.#list.append(notice.element);
    this.#kept.set(name, notice);
  }

  /** Removes the notice with this name. */
  drop(name: string): void {
    this.#kept.get(name)?.element.remove();
    this.#kept.delete(name);
  }

  clear(): void {
    this.#kept.clear();
    this.#list.replaceChildren();
  }
}

function labels(actions: Action[]): string {
  return actions.map(({ label }) => label).join('\n');
}

function write({ text, timer }: Kept, says: string, left: string): void {
  if (text.textContent !== says) text.textContent = says;
  timer.textContent = left && ` ${left}`;
}

function make(says: string, actions: Action[], dismiss?: () => void): Kept {
  const text = el('span', {}, says);
  const timer = el('span', { role: 'timer', 'aria-live': 'off' });
  const element = el('div', { class: 'notice' },
    el('p', {}, text, timer),
    el('div', { class: 'notice-buttons' },
      ...actions.map(({ label }, i) =>
        el('button', {
          type: 'button', class: i > 0 ? 'plain' : undefined,
          onclick: () => {
            element.remove();
            actions[i]?.run(); // the newest action with this label
          },
        }, label)),
      dismiss && el('button', { type: 'button', class: 'quiet', 'aria-label': 'Dismiss', onclick: dismiss }, icon('close'))));

  return { element, text, timer, actions };
}
