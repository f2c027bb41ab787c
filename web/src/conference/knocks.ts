import type { Api, Participant, Room } from '../rooms/index.js';
import type { Action, Notices } from './notices.js';

/** The functions of the meeting that a knock calls. */
export interface KnocksHost {
  act(work: Promise<unknown>): void;
  /** Asks whether to refuse the participant, and does it. */
  deny(participant: Participant): void;
  showPeople(): void;
}

/** The host's notice about participants in the waiting room. All of them share one notice. */
export class Knocks {
  /** User ids for whom the host has dismissed the notice or clicked one of its buttons. The list of people still has them. */
  readonly #seen = new Set<string>();

  constructor(
    private readonly api: Api,
    private readonly room: Room,
    private readonly notices: Notices,
    private readonly host: KnocksHost,
  ) {}

  /** Updates the notice to the current state. While the list of people is open, it shows the knocks instead of the notice. */
  render(listIsOpen: boolean): void {
    const isHost = this.room.self?.role === 'host'; // cohosts can't admit
    const waiting = isHost ? [...this.room.participants.values()].filter((p) => p.state === 'waiting') : [];
    for (const id of this.#seen) if (!waiting.some((p) => p.userId === id)) this.#seen.delete(id);
    if (listIsOpen) this.#see(waiting);
    const [first] = waiting;
    if (!first || waiting.every((p) => this.#seen.has(p.userId))) return this.notices.drop('knock');
    const others = waiting.length - 1;
    const text = others === 0
      ? `${first.displayName} is in the waiting room.`
      : `${first.displayName} and ${others === 1 ? '1 other' : `${others} others`} are in the waiting room.`;
    this.notices.keep('knock', text, others === 0 ? this.#forOne(first) : this.#forAll(waiting), { onDismiss: () => this.#see(waiting) });
  }

  #forOne(p: Participant): Action[] {
    return [
      { label: 'Admit', run: () => this.#admit([p]) },
      {
        label: 'Deny',
        run: () => {
          this.#see([p]);
          this.host.deny(p);
        },
      },
    ];
  }

  #forAll(waiting: Participant[]): Action[] {
    return [
      { label: 'Admit all', run: () => this.#admit(waiting) },
      {
        label: 'Show them',
        run: () => {
          this.#see(waiting);
          this.host.showPeople();
        },
      },
    ];
  }

  #admit(waiting: Participant[]): void {
    this.#see(waiting);
    for (const { userId } of waiting) this.host.act(this.api.admit(this.room.id, userId));
  }

  #see(waiting: Participant[]): void {
    for (const { userId } of waiting) this.#seen.add(userId);
  }
}
