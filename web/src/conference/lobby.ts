import { type Session, type Ticket, capture, listDevices, measureLevel } from '../rooms/index.js';
import { byId, el, hue, icon, initials } from './dom.js';
import { choose, chosen } from './memory.js';
import { deviceTrouble } from './sayings.js';

/** The media with which the user joins the room. */
export interface Luggage {
  microphone: MediaStreamTrack | undefined;
  camera: MediaStreamTrack | undefined;
}

type Device = 'microphone' | 'camera';

const madeUp = /^guest_[0-9a-z]{26}$/; // an id that the server made for a user without a name

const kinds: Record<string, string> = { conference: 'Conference', webinar: 'Webinar', livestream: 'Live stream', call: 'Call' };

/** The page before the room: the user's name, a preview of camera and microphone, and the button to join. */
export class Lobby {
  readonly #media: Record<Device, MediaStreamTrack | undefined> = { microphone: undefined, camera: undefined };
  readonly #off = new AbortController();
  #endLevel: (() => void) | undefined;
  readonly #publishes: boolean;

  constructor(
    private readonly session: Session | undefined,
    private readonly self: Ticket,
    private readonly voiceOnly: boolean,
    private readonly isStream: boolean,
  ) {
    // Depends on the role: a guest in a waiting room has no permissions yet, but gets them on admission.
    this.#publishes = self.role !== 'viewer';
  }

  /** Shows the page. Resolves when the user clicks the button to join. */
  async show(): Promise<Luggage> {
    const { userId, displayName: name } = this.self;
    byId('lobby-kind').textContent = kinds[this.session?.type ?? ''] ?? (this.isStream ? 'Live stream' : 'Session');
    byId('lobby-name').textContent = this.session?.name ?? (this.isStream ? 'Live room' : 'Breakout room');
    byId('lobby-who').replaceChildren(
      'You join as ', madeUp.test(name) ? 'a guest' : el('strong', {}, name), this.#publishes ? '.' : ', to watch and listen.');
    byId('lobby-recorded').hidden = !this.session?.recordingEnabled;
    byId('lobby-devices').hidden = !this.#publishes;
    byId('lobby-trouble').hidden = true;
    const face = byId('preview-face');
    face.textContent = initials(name);
    face.style.setProperty('--hue', String(hue(userId)));
    document.querySelector('.preview')?.toggleAttribute('hidden', !this.#publishes);
    byId<HTMLButtonElement>('join-button').textContent = this.session?.type === 'call' ? 'Join the call' : 'Join';
    byId('lobby').hidden = false;

    const { signal } = this.#off;
    for (const device of ['microphone', 'camera'] as const) {
      byId(`lobby-${device}`).addEventListener('click', () => void this.#toggle(device), { signal });
      byId<HTMLSelectElement>(`pick-${device}`).addEventListener('change', () => void this.#pick(device), { signal });
    }
    byId<HTMLSelectElement>('pick-speaker').addEventListener('change', (event) => {
      choose({ speaker: (event.target as HTMLSelectElement).value });
    }, { signal });
    addEventListener('keydown', (event) => this.#shortcut(event), { signal });
    navigator.mediaDevices?.addEventListener('devicechange', () => void this.#list(), { signal });

    this.#render();
    byId('join-button').focus({ preventScroll: true });
    if (this.#publishes) void this.#start();

    return new Promise((resolve) => {
      byId('join').addEventListener('submit', (event) => {
        event.preventDefault();
        resolve(this.#go());
      }, { signal });
    });
  }

  async #start(): Promise<void> {
    // One after the other: two permission prompts at once would confuse the user.
    await this.#open('microphone');
    if (!this.voiceOnly) await this.#open('camera');
    await this.#list();
  }

  #go(): Luggage {
    this.#off.abort();
    this.#endLevel?.();
    byId<HTMLVideoElement>('preview').srcObject = null;
    byId('lobby').hidden = true;

    return { ...this.#media };
  }

  async #toggle(device: Device): Promise<void> {
    if (!this.#media[device]) {
      await this.#open(device);
      await this.#list();
    } else {
      this.#media[device]?.stop();
      this.#media[device] = undefined;
    }
    this.#render();
  }

  async #pick(device: Device): Promise<void> {
    const { value } = byId<HTMLSelectElement>(`pick-${device}`);
    choose({ [device]: value });
    this.#media[device]?.stop();
    this.#media[device] = undefined;
    await this.#open(device);
  }

  async #open(device: Device): Promise<void> {
    const trouble = byId('lobby-trouble');
    try {
      const track = await capture(device, chosen()[device]);
      // In the meantime the user has joined, or has switched the device on a second time.
      if (this.#off.signal.aborted || this.#media[device]) track.stop();
      else this.#media[device] = track;
      trouble.hidden = true;
    } catch (error) {
      trouble.textContent = deviceTrouble(error, device);
      trouble.hidden = false;
    }
    this.#render();
  }

  async #list(): Promise<void> {
    const devices = await listDevices();
    const fill = (kind: 'microphone' | 'camera' | 'speaker', infos: MediaDeviceInfo[]): void => {
      const select = byId<HTMLSelectElement>(`pick-${kind}`);
      const current = kind === 'speaker' ? chosen().speaker : (this.#media[kind]?.getSettings().deviceId ?? chosen()[kind]);
      select.replaceChildren(...infos.map((info, i) => el('option', { value: info.deviceId, selected: info.deviceId === current }, info.label || `${kind} ${i + 1}`)));
      select.disabled = infos.length === 0;
      if (infos.length === 0) select.append(el('option', {}, 'None found'));
    };
    fill('microphone', devices.microphones);
    fill('camera', devices.cameras);
    fill('speaker', devices.speakers);
    byId('pick-speaker-label').hidden = devices.speakers.length < 2;
  }

  #render(): void {
    const video = byId<HTMLVideoElement>('preview');
    const { camera, microphone } = this.#media;
    if (!this.#off.signal.aborted) video.srcObject = camera ? new MediaStream([camera]) : null;
    video.hidden = !camera;
    byId('preview-face').hidden = camera !== undefined;
    byId('preview-says').textContent = camera ? '' : 'Your camera is off';
    for (const device of ['microphone', 'camera'] as const) {
      const on = this.#media[device] !== undefined;
      const button = byId(`lobby-${device}`);
      button.replaceChildren(icon(on ? device : `${device}-off`));
      button.setAttribute('aria-label', `${on ? 'Switch off' : 'Switch on'} ${device}`);
      button.setAttribute('aria-pressed', String(on));
      button.classList.toggle('off', !on);
    }
    this.#endLevel?.();
    this.#endLevel = undefined;
    setLevel(0);
    if (microphone && !this.#off.signal.aborted) this.#endLevel = measureLevel(microphone, setLevel);
  }

  #shortcut(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).matches('select, input')) return;
    const device = ({ m: 'microphone', v: 'camera' } as const)[event.key.toLowerCase()];
    if (device && this.#publishes) void this.#toggle(device);
  }
}

function setLevel(level: number): void {
  const bar = byId('level');
  bar.style.setProperty('--level', level.toFixed(2));
  bar.parentElement?.setAttribute('aria-valuenow', String(Math.round(level * 100)));
}
