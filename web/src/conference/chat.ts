import type { Api, ChatMessage, RealtimeRoom, Room } from '../rooms/index.js';
import { el, hue, icon, initials } from './dom.js';
import { trouble } from './sayings.js';

type Shown = Pick<ChatMessage, 'id' | 'authorId' | 'authorName' | 'body' | 'createdAt'> & { editedAt?: string | null; redacted?: boolean };

const pageSize = 100; // of Api.messages
const kept = 500; // messages at most on the page; the oldest are removed from it, not from the server

/** The room's chat: its history, new messages, and a field to write one. */
export class Chat {
  readonly element: HTMLElement;
  readonly #list = el('ol', { class: 'messages', tabindex: '0', 'aria-label': 'Messages' });
  readonly #empty = el('p', { class: 'empty' }, 'No messages yet. Say hello.');
  readonly #field = el('textarea', { rows: '1', maxlength: '4000', placeholder: 'Write a message', 'aria-label': 'Message' });
  readonly #send = el('button', { type: 'submit', class: 'round', 'aria-label': 'Send' }, icon('send'));
  readonly #says = el('p', { class: 'trouble', role: 'alert', hidden: true });
  readonly #messages = new Map<string, HTMLElement>();
  #last: string | undefined;

  constructor(
    private readonly api: Api,
    private readonly room: Room,
    realtime: RealtimeRoom,
    /** Called with each new message of another participant. */
    private readonly heard: (message: Shown) => void,
  ) {
    const form = el('form', { class: 'write' }, this.#field, this.#send);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#write();
    });
    this.#field.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    this.element = el('div', { class: 'chat-panel' }, el('div', { class: 'messages-frame' }, this.#empty, this.#list), this.#says, form);
    realtime.on('subscribed', ({ recovered }) => recovered || void this.#load());
    realtime.on('chat.message', (message) => {
      this.#show(message);
      if (message.authorId !== room.self?.userId) this.heard(message);
    });
    realtime.on('chat.edited', (message) => this.#show(message));
    realtime.on('chat.deleted', ({ id }) => this.#redact(id));
  }

  /** Called when the panel was opened: shows the newest messages and focuses the field. */
  opened(): void {
    this.#list.scrollTop = this.#list.scrollHeight;
    this.#field.focus();
  }

  /** Loads the newest messages again: those on the page may have been edited or deleted during a long disconnection. */
  async #load(): Promise<void> {
    try {
      const last = this.#last;
      const messages = await this.api.messages(this.room.id);
      // A full page: there may be further messages between it and the older ones, so the older ones are removed. Messages
      // that arrived during the request are newer and stay.
      if (messages.length === pageSize) this.#drop((id) => id < messages[0]!.id);
      for (const message of messages) {
        const missed = last !== undefined && message.id > last && !this.#messages.has(message.id);
        this.#show(message);
        if (missed && !message.redacted && message.authorId !== this.room.self?.userId) this.heard(message);
      }
    } catch (error) {
      this.#tell(trouble(error));
    }
  }

  async #write(): Promise<void> {
    const body = this.#field.value.trim();
    const { self } = this.room;
    if (!body || !self) return;
    this.#send.disabled = true;
    try {
      this.#show(await this.api.sendMessage(this.room.id, self.userId, self.displayName, body));
      this.#field.value = '';
      this.#tell('');
    } catch (error) {
      this.#tell(trouble(error));
    } finally {
      this.#send.disabled = false;
    }
  }

  #tell(text: string): void {
    this.#says.textContent = text;
    this.#says.hidden = !text;
  }

  #show(message: Shown): void {
    const element = this.#element(message);
    const before = this.#messages.get(message.id);
    const atEnd = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 40;
    if (before) before.replaceWith(element);
    else this.#insert(message, element);
    this.#messages.set(message.id, element);
    if (!this.#last || message.id > this.#last) this.#last = message.id;
    this.#empty.hidden = true;
    if (atEnd || message.authorId === this.room.self?.userId) this.#list.scrollTop = this.#list.scrollHeight;
    this.#drop(() => this.#messages.size > kept);
  }

  /** drop removes messages from the page, the oldest first, as long as `which` is true. */
  #drop(which: (id: string) => boolean): void {
    for (const [id, element] of this.#messages) {
      if (!which(id)) break;
      element.remove();
      this.#messages.delete(id);
    }
  }

  /** insert keeps the messages in the order of their ids, which is that of time: sendMessage may return before an earlier one arrives. */
  #insert(message: Shown, element: HTMLElement): void {
    let after = this.#list.lastElementChild;
    while (after && (after as HTMLElement).dataset['id']! > message.id) after = after.previousElementSibling;
    if (after) after.after(element);
    else this.#list.prepend(element);
  }

  #redact(id: string): void {
    const element = this.#messages.get(id);
    element?.querySelector('.body')?.replaceWith(el('p', { class: 'body gone' }, 'Deleted'));
    element?.querySelector('button')?.remove();
  }

  #element(message: Shown): HTMLElement {
    const mine = message.authorId === this.room.self?.userId;
    const mayDelete = !message.redacted && (mine || ['host', 'cohost'].includes(this.room.self?.role ?? ''));
    const face = el('span', { class: 'face', 'aria-hidden': 'true' }, initials(message.authorName));
    face.style.setProperty('--hue', String(hue(message.authorId)));
    const time = new Date(message.createdAt);

    return el(
      'li', { class: mine ? 'mine' : undefined, 'data-id': message.id },
      face,
      el('div', { class: 'said' },
        el('p', { class: 'by' },
          el('strong', {}, mine ? 'You' : message.authorName),
          el('time', { datetime: message.createdAt }, time.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })),
          message.editedAt ? el('span', {}, 'edited') : undefined,
          mayDelete && el('button', { type: 'button', class: 'quiet', 'aria-label': 'Delete this message', onclick: () => void this.#delete(message.id) }, icon('trash'))),
        message.redacted ? el('p', { class: 'body gone' }, 'Deleted') : el('p', { class: 'body' }, ...withLinks(message.body ?? ''))),
    );
  }

  async #delete(id: string): Promise<void> {
    try {
      await this.api.deleteMessage(this.room.id, id);
      this.#redact(id);
    } catch (error) {
      this.#tell(trouble(error));
    }
  }
}

/** withLinks turns http and https addresses in a text into links. */
function withLinks(text: string): (Node | string)[] {
  return text.split(/(https?:\/\/[^\s<>"]+[^\s<>".,;:!?)])/).map((part, i) =>
    i % 2 === 1 ? el('a', { href: part, target: '_blank', rel: 'noopener noreferrer' }, part) : part,
  );
}
