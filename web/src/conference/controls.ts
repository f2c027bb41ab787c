import { type Room, canShareScreen, listDevices } from '../rooms/index.js';
import { type Item, byId, el, icon, openMenu } from './dom.js';
import { choose, chosen } from './memory.js';
import type { Layout } from './arrange.js';
import type { Captions } from './captions.js';
import type { RecordingSwitch } from './recording.js';
import type { OwnTile } from './stage.js';

/** The parts of the meeting that the bar uses. */
export interface ControlsHost {
  setMicrophone(on: boolean, deviceId?: string): void;
  setCamera(on: boolean, deviceId?: string): void;
  setScreen(on: boolean): void;
  toggleHand(): void;
  sendHeart(): void;
  togglePanel(name: 'chat' | 'people'): void;
  layout: Layout | undefined;
  ownTile: OwnTile;
  /** Shows a video in a small window on top of all others, or ends that; undefined if the browser can't or no video is shown. */
  readonly float: (() => void) | undefined;
  /** Copies the link with which others are invited; undefined if the user may not invite or there is no such link. */
  readonly copyInvite: (() => void) | undefined;
  readonly recording: RecordingSwitch;
  readonly captions: Captions;
  leave(): void;
  endForAll(): void;
}

type Name = 'microphone' | 'camera' | 'screen' | 'hand' | 'heart' | 'chat' | 'people' | 'more' | 'leave';

const keys: Partial<Record<Name, string>> = { microphone: 'm', camera: 'v', hand: 'h', chat: 'c', people: 'p' };

/** The bar at the bottom of the room. */
export class Controls {
  readonly #buttons: Record<Name, HTMLButtonElement>;
  readonly #off = new AbortController();

  constructor(
    private readonly room: Room,
    private readonly host: ControlsHost,
  ) {
    const make = (name: Name, run: (event: Event) => void): HTMLButtonElement =>
      el('button', { type: 'button', class: `control ${name}`, 'data-control': name, 'aria-keyshortcuts': keys[name], onclick: run });
    this.#buttons = {
      microphone: make('microphone', () => host.setMicrophone(!room.isOn('microphone'))),
      camera: make('camera', () => host.setCamera(!room.isOn('camera'))),
      screen: make('screen', () => host.setScreen(!room.local.has('screen'))),
      hand: make('hand', () => host.toggleHand()),
      heart: make('heart', () => host.sendHeart()),
      chat: make('chat', () => host.togglePanel('chat')),
      people: make('people', () => host.togglePanel('people')),
      more: make('more', (event) => openMenu(event.currentTarget as HTMLElement, this.#moreItems())),
      leave: make('leave', (event) => this.#leave(event.currentTarget as HTMLElement)),
    };
    const { microphone, camera, screen, hand, heart, chat, people, more, leave } = this.#buttons;
    more.setAttribute('aria-haspopup', 'menu');
    byId('controls').replaceChildren(
      el('div', { class: 'group-me' }, withCaret(microphone, 'Choose microphone', (e) => void this.#devices('microphone', e.currentTarget as HTMLElement)), withCaret(camera, 'Choose camera', (e) => void this.#devices('camera', e.currentTarget as HTMLElement)), screen),
      el('div', { class: 'group-room' }, hand, heart, chat, people, more),
      leave,
    );
    addEventListener('keydown', (event) => this.#shortcut(event), { signal: this.#off.signal });
  }

  /** Updates the buttons to the current state. */
  render(state: { unread: number; asks: number; panel: 'chat' | 'people' | undefined }): void {
    const { room } = this;
    const perms = room.self?.perms ?? { audio: false, video: false, screen: false };
    const moderates = room.self?.role === 'host';
    const on = { microphone: room.isOn('microphone'), camera: room.isOn('camera') };
    this.#set('microphone', on.microphone ? 'microphone' : 'microphone-off', on.microphone ? 'Mute audio' : 'Unmute audio', { off: !on.microphone, hidden: !perms.audio });
    this.#set('camera', on.camera ? 'camera' : 'camera-off', on.camera ? 'Stop video' : 'Start video', { off: !on.camera, hidden: !perms.video });
    const shares = room.local.has('screen');
    this.#set('screen', 'screen', shares ? 'Stop sharing' : 'Share screen', { active: shares, text: shares ? 'Stop' : 'Share', hidden: !perms.screen || !canShareScreen() });
    const hand = room.self?.handRaised ?? false;
    this.#set('hand', 'hand', hand ? 'Lower hand' : 'Raise hand', { active: hand, hidden: moderates || room.session.type === 'call' || room.kind === 'stream' });
    this.#set('heart', 'heart', 'Send a heart', { hidden: room.session.type === 'call' });
    this.#set('chat', 'chat', state.unread > 0 ? `Chat, ${state.unread} new` : 'Chat', { active: state.panel === 'chat', badge: state.unread, text: 'Chat' });
    this.#set('people', 'people', state.asks > 0 ? `People, ${state.asks} waiting or with a raised hand` : 'People', { active: state.panel === 'people', badge: state.asks, text: 'People' });
    this.#set('more', 'more', 'More', {});
    this.#set('leave', 'leave', room.session.type === 'call' ? 'Hang up' : 'Leave', {});
  }

  close(): void {
    this.#off.abort();
  }

  /** Puts the focus back on a button. */
  focus(name: 'chat' | 'people'): void {
    this.#buttons[name].focus();
  }

  #set(name: Name, picture: Parameters<typeof icon>[0], label: string, is: { off?: boolean; active?: boolean; hidden?: boolean; badge?: number; text?: string }): void {
    const button = this.#buttons[name];
    const frame = button.parentElement?.classList.contains('with-caret') ? button.parentElement : button;
    frame.hidden = is.hidden ?? false;
    const text = JSON.stringify([picture, label, is]);
    if (button.dataset['shown'] === text) return;
    button.dataset['shown'] = text;
    const key = keys[name];
    button.title = key ? `${label} (${key})` : label;
    button.setAttribute('aria-label', label);
    if (is.active !== undefined) button.setAttribute('aria-pressed', String(is.active));
    button.classList.toggle('off', is.off ?? false);
    button.classList.toggle('active', is.active ?? false);
    button.replaceChildren(icon(picture), el('span', { class: 'control-text', 'aria-hidden': 'true' }, is.text ?? shortOf[name] ?? label));
    if (is.badge) button.append(' ', el('span', { class: 'badge', 'aria-hidden': 'true' }, is.badge > 99 ? '99+' : String(is.badge)));
  }

  async #devices(kind: 'microphone' | 'camera', anchor: HTMLElement): Promise<void> {
    const devices = await listDevices();
    const current = this.room.local.get(kind)?.media?.getSettings().deviceId ?? chosen()[kind];
    const items: Item[] = [{ label: kind === 'microphone' ? 'Microphone' : 'Camera' }];
    const list = kind === 'microphone' ? devices.microphones : devices.cameras;
    list.forEach((device, i) => items.push({
      label: device.label || `${kind === 'microphone' ? 'Microphone' : 'Camera'} ${i + 1}`, checked: device.deviceId === current,
      run: () => {
        choose({ [kind]: device.deviceId });
        if (kind === 'microphone') this.host.setMicrophone(true, device.deviceId);
        else this.host.setCamera(true, device.deviceId);
      },
    }));
    if (kind === 'microphone' && devices.speakers.length > 1) {
      items.push({ label: 'Loudspeaker' }, ...devices.speakers.map((device, i) => ({
        label: device.label || `Loudspeaker ${i + 1}`, checked: device.deviceId === (chosen().speaker ?? 'default'),
        run: () => {
          choose({ speaker: device.deviceId });
          void this.room.setSpeaker(device.deviceId);
        },
      })));
    }
    openMenu(anchor, items);
  }

  #moreItems(): Item[] {
    const { host, room } = this;
    const layouts: [Layout | undefined, string][] = [[undefined, 'Set by the host'], ['grid', 'Grid'], ['speaker', 'Speaker'], ['sidebar', 'Sidebar']];
    const items: Item[] = [
      { label: 'Your layout' },
      ...layouts.map(([layout, label]) => ({ label, checked: host.layout === layout, run: () => (host.layout = layout) })),
    ];
    const { perms } = room.self ?? {};
    if (perms?.audio || perms?.video) {
      const places: [OwnTile, string][] = [['shown', 'With the others'], ['pinned', 'Pinned: always large'], ['hidden', 'Hidden: only from you']];
      items.push({ label: 'Your own tile' }, ...places.map(([is, label]) => ({ label, checked: host.ownTile === is, run: () => (host.ownTile = is) })));
    }
    items.push({ label: 'Settings' });
    if (host.recording.offered) items.push({ label: host.recording.label, icon: host.recording.records ? 'stop' : 'record', run: () => void host.recording.toggle() });
    if (host.captions.heard) items.push({ label: 'Captions', checked: !host.captions.hidden, run: () => (host.captions.hidden = !host.captions.hidden) });
    if (host.copyInvite) items.push({ label: 'Copy the invite link', icon: 'link', run: host.copyInvite });
    if (host.float) items.push({ label: document.pictureInPictureElement ? 'Leave picture in picture' : 'Picture in picture', icon: 'float', run: host.float });
    const { more } = this.#buttons;
    const later = (run: () => void) => () => setTimeout(run); // after this menu is closed
    if (perms?.audio) items.push({ label: 'Microphone and sound …', icon: 'microphone', run: later(() => void this.#devices('microphone', more)) });
    if (perms?.video) items.push({ label: 'Camera …', icon: 'camera', run: later(() => void this.#devices('camera', more)) });
    if (document.fullscreenEnabled) {
      items.push({
        label: document.fullscreenElement ? 'Leave full screen' : 'Full screen', icon: 'fullscreen',
        run: () => void (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()),
      });
    }
    items.push({ label: 'Keyboard: m microphone, v camera, h hand, c chat, p people' });

    return items;
  }

  #leave(anchor: HTMLElement): void {
    const { role } = this.room.self ?? {};
    if (role !== 'host' || this.room.kind === 'stream' || this.room.session.type === 'call' || this.room.session.parentSessionId) return this.host.leave();
    openMenu(anchor, [
      { label: 'Leave the room', icon: 'leave', run: () => this.host.leave() },
      { label: 'End for everybody', icon: 'close', danger: true, run: () => this.host.endForAll() },
    ]);
  }

  #shortcut(event: KeyboardEvent): void {
    const writes = (event.target as Element).closest?.('input, textarea, select, dialog, [contenteditable]');
    if (writes || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const name = (Object.keys(keys) as Name[]).find((k) => keys[k] === event.key.toLowerCase());
    if (!name) return;
    const button = this.#buttons[name];
    if (button.closest('[hidden]')) return;
    event.preventDefault();
    button.click();
  }
}

/** The texts below the icons. Each is a part of the button's name, so that users of speech input can say it. */
const shortOf: Partial<Record<Name, string>> = { microphone: 'Audio', camera: 'Video', hand: 'Hand', heart: 'Heart' };

function withCaret(button: HTMLElement, label: string, run: (event: Event) => void): HTMLElement {
  return el('div', { class: 'with-caret' }, button,
    el('button', { type: 'button', class: 'caret', 'aria-label': label, 'aria-haspopup': 'menu', onclick: run }, icon('down')));
}
