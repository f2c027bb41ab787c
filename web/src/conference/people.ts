import type { Api, Participant, Room } from '../rooms/index.js';
import { type Item, el, hue, icon, initials, openMenu } from './dom.js';
import type { RecordingSwitch } from './recording.js';

/** The functions of the meeting that the panel calls. */
export interface PeopleHost {
  /** Waits for a request to the server. Shows `done` after success, else the error. */
  act(work: Promise<unknown>, done?: string): void;
  /** Asks a yes-or-no question; resolves with true for yes. */
  confirm(question: string, yes: string): Promise<boolean>;
  openBreakouts(): void;
  readonly recording: RecordingSwitch;
}

const roles: Record<string, string> = { host: 'Host', cohost: 'Co-host', guest: '', viewer: 'Viewer' };

/** The lists of participants in the room, in the waiting room and with raised hands, and the moderators' tools. */
export class People {
  readonly element = el('div', { class: 'people-panel' });
  readonly #rows = new Map<string, { text: string; row: HTMLElement }>();
  readonly #groups = {
    waiting: group('Waiting for admission'),
    hands: group('Raised hands'),
    here: group('In the room'),
  };
  readonly #admitAll = el('button', { type: 'button', class: 'small' }, 'Admit all');
  readonly #tools = el('div', { class: 'tools' });
  readonly #audience = el('p', { class: 'quiet' });

  constructor(
    private readonly api: Api,
    private readonly room: Room,
    private readonly host: PeopleHost,
  ) {
    const { waiting, hands, here } = this.#groups;
    waiting.heading.append(this.#admitAll);
    this.#admitAll.addEventListener('click', () => {
      for (const p of this.#of('waiting')) this.host.act(this.api.admit(this.room.id, p.userId));
    });
    this.element.append(this.#tools, waiting.element, hands.element, here.element, this.#audience);
    this.#makeTools();
  }

  /** The number of participants who wait for admission or have raised a hand; 0 if the local participant doesn't moderate. */
  get asks(): number {
    const moderates = this.#moderates();

    return moderates ? this.#of('waiting').length + this.#of('hands').length : 0;
  }

  /** Updates the lists to the current state. */
  render(): void {
    for (const name of ['waiting', 'hands', 'here'] as const) this.#renderGroup(name);
    this.#admitAll.hidden = this.room.self?.role !== 'host' || this.#of('waiting').length < 2;
    const { audience } = this.room;
    this.#audience.hidden = audience === 0;
    this.#audience.textContent = audience === 1 ? 'One more viewer' : `${audience} more viewers`;
    this.#renderTools();
  }

  #of(name: 'waiting' | 'hands' | 'here'): Participant[] {
    const all = [...this.room.participants.values()];
    if (name === 'waiting') return all.filter((p) => p.state === 'waiting');
    const here = all.filter((p) => p.state === 'joined');

    return name === 'hands' ? here.filter((p) => p.handRaised) : here.sort(byRank);
  }

  #renderGroup(name: 'waiting' | 'hands' | 'here'): void {
    const { element, count, list } = this.#groups[name];
    const people = this.#of(name);
    element.hidden = people.length === 0;
    count.textContent = String(people.length);
    const rows = people.map((p) => this.#row(`${name}/${p.userId}`, name, p));
    const gone = [...list.children].filter((row) => !rows.includes(row as HTMLElement));
    for (const row of gone) row.remove();
    rows.forEach((row, i) => {
      if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null);
    });
  }

  /** row returns a participant's entry. It is made again only after a change, because a menu may be open at it. */
  #row(key: string, name: 'waiting' | 'hands' | 'here', p: Participant): HTMLElement {
    const heard = this.#hears(p);
    const text = JSON.stringify([p, heard, this.room.self?.role, this.room.session.spotlightUserId]);
    const before = this.#rows.get(key);
    if (before?.text === text) return before.row;
    const face = el('span', { class: 'face', 'aria-hidden': 'true' }, initials(p.displayName));
    face.style.setProperty('--hue', String(hue(p.userId)));
    const mine = p.userId === this.room.self?.userId;
    const row = el('li', { 'data-user': p.userId }, face,
      el('span', { class: 'who' }, el('span', {}, mine ? `${p.displayName} (you)` : p.displayName), el('small', {}, this.#standing(p))),
      name === 'here' && p.role !== 'viewer' && this.#microphone(p, heard),
      ...this.#buttons(name, p));
    this.#rows.set(key, { text, row });

    return row;
  }

  #hears(p: Participant): boolean {
    if (p.userId === this.room.self?.userId) return this.room.isOn('microphone');

    return !p.muted && this.room.trackOf(p.userId, 'microphone')?.muted === false;
  }

  /** microphone returns the sign of a microphone. Moderators can click it to mute the participant. */
  #microphone(p: Participant, heard: boolean): Element {
    const { room, api } = this;
    const mayMute = heard && this.#moderates() && p.userId !== room.self?.userId && room.kind === 'session' && room.session.type !== 'call';

    if (!mayMute) return icon(heard ? 'microphone' : 'microphone-off');
    const button = quietButton(`Mute ${p.displayName}`, 'microphone', () => this.host.act(api.mute(room.id, p.userId), `${p.displayName} is muted.`));
    button.classList.add('mute');

    return button;
  }

  #standing(p: Participant): string {
    const spotlit = this.room.session.spotlightUserId === p.userId ? 'In the spotlight' : '';

    return [roles[p.role], spotlit].filter(Boolean).join(' · ');
  }

  #buttons(name: 'waiting' | 'hands' | 'here', p: Participant): HTMLElement[] {
    const isHost = this.room.self?.role === 'host';
    const id = this.room.id;
    const button = (label: string, run: () => void, look = 'small'): HTMLElement =>
      el('button', { type: 'button', class: look, 'aria-label': `${label}: ${p.displayName}`, onclick: run }, label);
    if (name === 'waiting') {
      return isHost
        ? [button('Admit', () => this.host.act(this.api.admit(id, p.userId))), quietButton(`Deny admission: ${p.displayName}`, 'close', () => this.remove(p))]
        : [];
    }
    if (name === 'hands') {
      if (isHost && p.role === 'viewer') return [button('Bring on stage', () => this.host.act(this.api.promote(id, p.userId, 'guest')))];

      return this.#moderates() || p.userId === this.room.self?.userId
        ? [button('Lower', () => this.host.act(this.api.lowerHand(id, p.userId)), 'small plain')]
        : [];
    }
    const items = this.#items(p);

    return items.length > 0
      ? [quietButton(`Actions for ${p.displayName}`, 'more', (event) => openMenu(event.currentTarget as HTMLElement, this.#items(p)))]
      : [];
  }

  /** items lists the actions for a participant: cohosts may use the spotlight, lower hands and remove; the host may do everything. */
  #items(p: Participant): Item[] {
    const { self, id, session } = this.room;
    if (!self || !this.#moderates() || this.room.kind === 'stream') return [];
    const isHost = self.role === 'host';
    const another = p.userId !== self.userId && p.role !== 'host';
    const items: Item[] = [];
    if (p.role !== 'viewer') {
      const lit = session.spotlightUserId === p.userId;
      items.push({
        label: lit ? 'Take out of the spotlight' : 'Put in the spotlight', icon: 'pin',
        run: () => this.host.act(this.api.spotlight(id, lit ? null : p.userId)),
      });
    }
    if (isHost && another && session.type !== 'call') {
      if (p.role === 'viewer') items.push({ label: 'Bring on stage', icon: 'up', run: () => this.host.act(this.api.promote(id, p.userId, 'guest')) });
      const role = (label: string, to: 'cohost' | 'guest' | 'viewer'): Item => ({
        label, icon: 'people', run: () => this.host.act(this.api.updateParticipant(id, p.userId, { role: to })),
      });
      if (p.role !== 'cohost') items.push(role('Make co-host', 'cohost'));
      else items.push(role('Make guest', 'guest'));
      if (p.role !== 'viewer') items.push(role('Move to the audience', 'viewer'));
      if (p.role === 'guest') {
        items.push({
          label: p.perms.screen ? 'Forbid screen sharing' : 'Allow screen sharing', icon: 'screen',
          run: () => this.host.act(this.api.updateParticipant(id, p.userId, { canPublishScreen: !p.perms.screen })),
        });
      }
    }
    if (p.handRaised) items.push({ label: 'Lower hand', icon: 'hand', run: () => this.host.act(this.api.lowerHand(id, p.userId)) });
    if (another) items.push({ label: 'Remove from the room', icon: 'remove', danger: true, run: () => this.remove(p) });

    return items;
  }

  /** Asks whether to remove a participant from the room or the waiting room, and does it. */
  remove(p: Participant): void {
    const waits = p.state === 'waiting';
    const question = `${waits ? 'Deny admission to' : 'Remove'} ${p.displayName}? They can come back only if they are invited again.`;
    void this.host.confirm(question, waits ? 'Deny' : 'Remove').then((yes) => {
      if (yes) this.host.act(this.api.kick(this.room.id, p.userId), `${p.displayName} was ${waits ? 'not admitted' : 'removed'}.`);
    });
  }

  #moderates(): boolean {
    return ['host', 'cohost'].includes(this.room.self?.role ?? '');
  }

  readonly #lock = toggle('Lock the room', 'No new participants can join', (locked) =>
    this.host.act(this.api.updateSession(this.room.id, { locked })));
  readonly #waitingRoom = toggle('Waiting room', 'New participants wait until you admit them', (waitingRoom) =>
    this.host.act(this.api.updateSession(this.room.id, { waitingRoom })));
  readonly #layout = el('select', {
    onchange: (event: Event) => {
      const layout = (event.target as HTMLSelectElement).value as 'grid';
      this.host.act(this.api.updateSession(this.room.id, { layout }));
    },
  },
  ...['grid', 'speaker', 'sidebar', 'spotlight'].map((l) => el('option', { value: l }, l.charAt(0).toUpperCase() + l.slice(1))));
  readonly #hostTools = el('div', { class: 'host-tools' });
  readonly #breakouts = el('button', { type: 'button', class: 'plain', onclick: () => this.host.openBreakouts() }, icon('rooms'), 'Breakout rooms');

  readonly #record = el('button', { type: 'button', class: 'plain', 'data-tool': 'record', onclick: () => this.#toggleRecording() });

  #toggleRecording(): void {
    void this.host.recording.toggle().then(() => this.#renderTools());
    this.#renderTools();
  }

  #makeTools(): void {
    const muteAll = el('button', {
      type: 'button', class: 'plain',
      onclick: () => this.host.act(this.api.muteAll(this.room.id, true), 'Everybody else is muted.'),
    }, icon('microphone-off'), 'Mute all');
    this.#hostTools.append(this.#lock.element, this.#waitingRoom.element, el('label', { class: 'setting' }, el('span', {}, 'Layout for all'), this.#layout));
    this.#tools.append(el('div', { class: 'tool-buttons' }, muteAll, this.#record, this.#breakouts), this.#hostTools);
  }

  #renderTools(): void {
    const { self, session, kind } = this.room;
    const isHost = self?.role === 'host';
    const isCall = session.type === 'call';
    this.#tools.hidden = !this.#moderates() || kind === 'stream' || isCall;
    this.#hostTools.hidden = this.#breakouts.hidden = !isHost;
    const { recording } = this.host;
    this.#record.hidden = !recording.offered;
    this.#record.disabled = recording.waits;
    if (this.#record.textContent !== recording.label) this.#record.replaceChildren(icon(recording.records ? 'stop' : 'record'), recording.label);
    if (session.parentSessionId) this.#breakouts.hidden = true;
    this.#lock.input.checked = session.locked ?? false;
    this.#waitingRoom.input.checked = session.waitingRoom ?? false;
    if (session.layout) this.#layout.value = session.layout;
  }
}

function group(title: string): { element: HTMLElement; heading: HTMLElement; count: HTMLElement; list: HTMLElement } {
  const count = el('span', { class: 'count' });
  const list = el('ul', {});
  const heading = el('div', { class: 'group-head' }, el('h3', {}, `${title} `, count));

  return { element: el('section', { class: 'group', hidden: true }, heading, list), heading, count, list };
}

function quietButton(label: string, name: Parameters<typeof icon>[0], run: (event: Event) => void): HTMLElement {
  return el('button', { type: 'button', class: 'quiet', title: label, 'aria-label': label, 'aria-haspopup': name === 'more' ? 'menu' : undefined, onclick: run }, icon(name));
}

function toggle(label: string, hint: string, change: (on: boolean) => void): { element: HTMLElement; input: HTMLInputElement } {
  const input = el('input', { type: 'checkbox', role: 'switch', onchange: () => change(input.checked) });

  return { element: el('label', { class: 'setting' }, el('span', {}, label, el('small', {}, hint)), input), input };
}

const rank = { host: 0, cohost: 1, guest: 2, viewer: 3 };

function byRank(a: Participant, b: Participant): number {
  return rank[a.role] - rank[b.role] || a.displayName.localeCompare(b.displayName);
}
