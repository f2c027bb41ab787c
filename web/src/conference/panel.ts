import { byId, el, icon } from './dom.js';

/** The names of the panel's contents. */
export type PanelName = 'chat' | 'people';

const titles: Record<PanelName, string> = { chat: 'Chat', people: 'People' };

/** The column beside the stage; on a phone it covers the stage. */
export class Panel {
  /** The content that is shown; undefined while the panel is closed. */
  name: PanelName | undefined;
  readonly #element = byId('panel');

  /**
   * @param contents the panel's contents by name
   * @param changed  is called when the panel opens, closes or changes, with the name that was shown before
   */
  constructor(
    private readonly contents: Record<PanelName, HTMLElement>,
    private readonly changed: (before: PanelName | undefined) => void,
  ) {
    this.#element.addEventListener('keydown', this.#escape);
  }

  toggle(name: PanelName): void {
    const before = this.name;
    this.name = before === name ? undefined : name;
    this.#element.hidden = !this.name;
    if (this.name) {
      this.#element.setAttribute('aria-label', titles[this.name]);
      this.#element.replaceChildren(
        el('div', { class: 'panel-head' },
          el('h2', {}, titles[this.name]),
          el('button', { type: 'button', class: 'quiet', 'aria-label': `Close ${titles[this.name].toLowerCase()}`, onclick: () => this.close() }, icon('close'))),
        this.contents[this.name],
      );
    }
    this.changed(before);
  }

  open(name: PanelName): void {
    if (this.name !== name) this.toggle(name);
  }

  close(): void {
    if (this.name) this.toggle(this.name);
  }

  /** Empties and hides the panel when the meeting has ended. */
  remove(): void {
    this.#element.removeEventListener('keydown', this.#escape);
    this.#element.hidden = true;
    this.#element.replaceChildren();
  }

  readonly #escape = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') this.close();
  };
}
