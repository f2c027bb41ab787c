import type { Api, Room } from '../rooms/index.js';
import { el } from './dom.js';

/** A breakout room that is open. */
export interface Breakout {
  id: string;
  name: string;
  userIds: string[];
  /** When it closes by itself; null for never. */
  closesAt?: string | null; // undefined if a server of an older version answered
}

/** The parts of the meeting that the dialog uses. */
export interface BreakoutsHost {
  readonly open: readonly Breakout[];
  act(work: Promise<unknown>, done?: string): void;
  goTo(room: string): void;
}

const most = 20; // rooms
const limits = [5, 10, 15, 20, 30, 45, 60]; // minutes

/** The host's dialog: it assigns participants to new breakout rooms. Open rooms can be visited and closed. */
export class BreakoutsDialog {
  readonly #dialog = el('dialog', { class: 'dialog', 'aria-labelledby': 'breakouts-title' });

  constructor(
    private readonly api: Api,
    private readonly room: Room,
    private readonly host: BreakoutsHost,
  ) {
    this.#dialog.addEventListener('close', () => this.#dialog.remove());
  }

  open(): void {
    document.body.append(this.#dialog);
    const { open } = this.host;
    if (open.length > 0) this.#showOpen(open);
    else this.#showNew();
    this.#dialog.showModal();
  }

  #showOpen(open: readonly Breakout[]): void {
    const assigned = open.map(() => el('small', {}));
    void this.#showAssigned(open, assigned);
    this.#dialog.replaceChildren(
      el('h2', { id: 'breakouts-title' }, 'Breakout rooms'),
      el('ul', { class: 'breakout-list' }, ...open.map(({ id, name, closesAt }, i) =>
        el('li', {},
          el('span', { class: 'who' }, name, assigned[i], !!closesAt && el('small', {}, `Closes at ${timeOfDay(closesAt)}`)),
          el('button', { type: 'button', class: 'small', 'aria-label': `Visit ${name}`, onclick: () => this.#done(() => this.host.goTo(id)) }, 'Visit')))),
      this.#buttons(
        el('button', { type: 'button', class: 'danger', onclick: () => this.#done(() => this.#closeAll()) }, 'Close all rooms')),
    );
  }

  /** showAssigned writes the names of the assigned users. Users in a breakout room have left this room, so the server is asked for their names. */
  async #showAssigned(open: readonly Breakout[], to: HTMLElement[]): Promise<void> {
    const names = new Map([...this.room.participants.values()].map(({ userId, displayName }) => [userId, displayName]));
    const known = open.every(({ userIds }) => userIds.every((id) => names.has(id)));
    const all = known ? [] : await this.api.participants(this.room.id).catch(() => []);
    for (const { userId, displayName } of all) names.set(userId, displayName ?? userId);
    for (const [i, { userIds }] of open.entries()) {
      const text = userIds.map((id) => names.get(id) ?? id).join(', ') || 'No participant is assigned';
      to[i]?.replaceChildren(text);
    }
  }

  #closeAll(): void {
    this.host.act(this.api.closeBreakouts(this.room.id), 'The breakout rooms are closed.');
  }

  #showNew(): void {
    const people = [...this.room.participants.values()].filter((p) => p.state === 'joined' && p.role !== 'host');
    const count = el('input', { type: 'number', min: '1', max: String(most), value: String(Math.max(Math.min(2, people.length || 1), Math.min(most, Math.ceil(people.length / 4)))), required: true });
    const picks = people.map((p) => ({ userId: p.userId, select: el('select', { 'aria-label': `Room for ${p.displayName}` }), name: p.displayName }));
    const fill = (): void => {
      const rooms = Math.max(1, Math.min(most, count.valueAsNumber || 1));
      for (const [i, { select }] of picks.entries()) {
        select.replaceChildren(el('option', { value: '' }, 'Stays here'), ...Array.from({ length: rooms }, (_, n) => el('option', { value: String(n + 1) }, `Room ${n + 1}`)));
        select.value = String((i % rooms) + 1);
      }
    };
    const limit = el('select', {}, el('option', { value: '' }, 'None'), ...limits.map((min) => el('option', { value: String(60 * min) }, `${min} minutes`)));
    count.addEventListener('input', fill);
    fill();
    const form = el('form', { method: 'dialog' },
      el('label', { class: 'setting' }, el('span', {}, 'Number of rooms'), count),
      el('label', { class: 'setting' }, el('span', {}, 'Time limit'), limit),
      people.length > 0
        ? el('ul', { class: 'breakout-list' }, ...picks.map(({ name, select }) => el('li', {}, el('span', { class: 'who' }, name), select)))
        : el('p', { class: 'quiet' }, 'Nobody else is in the room yet. Rooms that you open now will be empty.'),
      this.#buttons(el('button', { type: 'submit' }, 'Open the rooms')));
    form.addEventListener('submit', () => {
      const assignments: Record<string, string[]> = {};
      for (const { userId, select } of picks) if (select.value) (assignments[select.value] ??= []).push(userId);
      this.host.act(this.api.createBreakouts(this.room.id, count.valueAsNumber, assignments, Number(limit.value) || null), 'The breakout rooms are open.');
    });
    this.#dialog.replaceChildren(el('h2', { id: 'breakouts-title' }, 'Breakout rooms'), form);
  }

  #buttons(action: HTMLElement): HTMLElement {
    return el('div', { class: 'dialog-buttons' }, el('button', { type: 'button', class: 'plain', onclick: () => this.#dialog.close() }, 'Cancel'), action);
  }

  #done(then: () => void): void {
    this.#dialog.close();
    then();
  }
}

function timeOfDay(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' });
}

/** Asks a yes-or-no question. */
export function ask(question: string, yes: string): Promise<boolean> {
  const dialog = el('dialog', { class: 'dialog ask', 'aria-label': question },
    el('p', {}, question),
    el('form', { method: 'dialog', class: 'dialog-buttons' },
      el('button', { value: 'no', class: 'plain' }, 'Cancel'), el('button', { value: 'yes', class: 'danger' }, yes)));
  document.body.append(dialog);
  dialog.showModal();

  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
  });
}
