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

/** The state of one device. Each device has its own state and its own message. */
interface DeviceState {
  track?: MediaStreamTrack | undefined;
  /** The browser opens the device, and may be asking the user for permission. */
  opening: boolean;
  /** Why the device can't be used; empty if it wasn't refused. */
  trouble: string;
}

const devices = ['microphone', 'camera'] as const;
const madeUp = /^guest_[0-9a-z]{26}$/; // an id that the server made for a user without a name

const kinds: Record<string, string> = { conference: 'Conference', webinar: 'Webinar', livestream: 'Live stream', call: 'Call' };

/** The page before the room: the user's name, a preview of camera and microphone, and the button to join. */
export class Lobby {
  readonly #devices: Record<Device, DeviceState> = { microphone: { opening: false, trouble: '' }, camera: { opening: false, trouble: '' } };
  readonly #off = new AbortController();
  #endLevel: (() => void) | undefined;
  readonly #publishes: boolean;
  /** Whether the user has clicked "Join" while the browser was still asking for a device. */
  #joining = false;
  #join: (() => void) | undefined;

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
    byId('lobby-recorded').hidden = !(this.session?.recordingEnabled || this.session?.recordingId);
    byId('lobby-broadcast').hidden = !this.session?.broadcast || this.session.broadcast.state === 'ended';
    byId('lobby-transcribed').hidden = !this.session?.transcriptionEnabled;
    byId('lobby-devices').hidden = !this.#publishes;
    const face = byId('preview-face');
    face.textContent = initials(name);
    face.style.setProperty('--hue', String(hue(userId)));
    document.querySelector('.preview')?.toggleAttribute('hidden', !this.#publishes);
    byId('lobby').hidden = false;

    const { signal } = this.#off;
    for (const device of devices) {
      byId(`lobby-${device}`).addEventListener('click', () => void this.#toggle(device), { signal });
      byId<HTMLSelectElement>(`pick-${device}`).addEventListener('change', () => void this.#pick(device), { signal });
    }
    byId<HTMLSelectElement>('pick-speaker').addEventListener('change', (event) => {
      choose({ speaker: (event.target as HTMLSelectElement).value });
    }, { signal });
    addEventListener('keydown', (event) => this.#shortcut(event), { signal });
    navigator.mediaDevices?.addEventListener('devicechange', () => void this.#list(), { signal });

    const joined = new Promise<Luggage>((resolve) => (this.#join = () => resolve(this.#go())));
    byId('join').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#joining = true;
      this.#render();
    }, { signal });
    byId('join-now').addEventListener('click', () => this.#join?.(), { signal });
    this.#render();
    byId('join-button').focus({ preventScroll: true });
    if (this.#publishes) void this.#start();

    return joined;
  }

  async #start(): Promise<void> {
    // One after the other: two permission prompts at once would confuse the user.
    const wanted: Device[] = this.voiceOnly ? ['microphone'] : ['microphone', 'camera'];
    for (const device of wanted) this.#devices[device].opening = true;
    for (const device of wanted) await this.#open(device);
    await this.#list();
  }

  #go(): Luggage {
    this.#off.abort();
    this.#endLevel?.();
    byId<HTMLVideoElement>('preview').srcObject = null;
    byId('lobby').hidden = true;

    return { microphone: this.#devices.microphone.track, camera: this.#devices.camera.track };
  }

  async #toggle(device: Device): Promise<void> {
    const state = this.#devices[device];
    if (state.opening) return;
    if (state.track) {
      this.#close(device);
      this.#render();
    } else {
      await this.#open(device);
      await this.#list();
    }
  }

  async #pick(device: Device): Promise<void> {
    const { value } = byId<HTMLSelectElement>(`pick-${device}`);
    choose({ [device]: value });
    this.#close(device);
    await this.#open(device);
  }

  #close(device: Device): void {
    const state = this.#devices[device];
    state.track?.stop();
    state.track = undefined;
    state.trouble = '';
  }

  async #open(device: Device): Promise<void> {
    const state = this.#devices[device];
    state.opening = true;
    state.trouble = '';
    this.#render();
    try {
      const track = await capture(device, chosen()[device]);
      // In the meantime the user has joined without the device, or has picked another one.
      if (this.#off.signal.aborted || state.track) track.stop();
      else state.track = track;
    } catch (error) {
      state.trouble = deviceTrouble(error, device);
    }
    state.opening = false;
    this.#render();
  }

  async #list(): Promise<void> {
    const found = await listDevices();
    const fill = (kind: 'microphone' | 'camera' | 'speaker', infos: MediaDeviceInfo[]): void => {
      const select = byId<HTMLSelectElement>(`pick-${kind}`);
      const current = kind === 'speaker' ? chosen().speaker : (this.#devices[kind].track?.getSettings().deviceId ?? chosen()[kind]);
      select.replaceChildren(...infos.map((info, i) => el('option', { value: info.deviceId, selected: info.deviceId === current }, info.label || `${kind} ${i + 1}`)));
      select.disabled = infos.length === 0 || (kind !== 'speaker' && this.#devices[kind].opening);
      if (infos.length === 0) select.append(el('option', {}, 'None found'));
    };
    fill('microphone', found.microphones);
    fill('camera', found.cameras);
    fill('speaker', found.speakers);
    byId('pick-speaker-label').hidden = found.speakers.length < 2;
  }

  /** render shows the devices' states. It joins once the user has clicked "Join" and no device is being opened any more. */
  #render(): void {
    if (this.#off.signal.aborted) return;
    const { camera, microphone } = this.#devices;
    const video = byId<HTMLVideoElement>('preview');
    if (shownIn(video) !== camera.track) video.srcObject = camera.track ? new MediaStream([camera.track]) : null;
    video.hidden = !camera.track;
    byId('preview-face').hidden = camera.track !== undefined;
    byId('preview-says').textContent = camera.track ? '' : camera.opening ? 'Your camera is starting' : 'Your camera is off';
    for (const device of devices) this.#renderDevice(device);
    this.#endLevel?.();
    this.#endLevel = undefined;
    setLevel(0);
    if (microphone.track) this.#endLevel = measureLevel(microphone.track, setLevel);
    this.#renderJoin();
  }

  #renderDevice(device: Device): void {
    const { track, opening, trouble } = this.#devices[device];
    const on = track !== undefined;
    const button = byId<HTMLButtonElement>(`lobby-${device}`);
    button.replaceChildren(icon(on ? device : `${device}-off`));
    button.setAttribute('aria-label', opening ? `The ${device} is starting` : `${on ? 'Switch off' : 'Switch on'} ${device}`);
    button.setAttribute('aria-pressed', String(on));
    button.setAttribute('aria-disabled', String(opening));
    button.classList.toggle('off', !on && !opening);
    button.classList.toggle('opening', opening);
    const says = byId(`says-${device}`);
    const text = opening ? `Waiting for your ${device}. Allow it if the browser asks.` : trouble;
    if (says.textContent !== text) says.textContent = text;
    says.classList.toggle('trouble', !opening);
  }

  #renderJoin(): void {
    const asked = devices.filter((device) => this.#devices[device].opening);
    if (this.#joining && asked.length === 0) return this.#join?.();
    const button = byId<HTMLButtonElement>('join-button');
    button.disabled = this.#joining;
    button.textContent = this.#joining ? 'Joining …' : this.session?.type === 'call' ? 'Join the call' : 'Join';
    const names = asked.join(' and ');
    const text = this.#joining ? `You join once your ${names} ${asked.length > 1 ? 'are' : 'is'} allowed.` : '';
    const waits = byId('join-waits');
    if (waits.textContent !== text) waits.textContent = text;
    const now = byId('join-now');
    now.hidden = !this.#joining;
    now.textContent = asked.length > 1 ? 'Join without them' : `Join without ${names}`;
    if (this.#joining && document.activeElement === document.body) now.focus();
  }

  #shortcut(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).matches('select, input')) return;
    const device = ({ m: 'microphone', v: 'camera' } as const)[event.key.toLowerCase()];
    if (device && this.#publishes) void this.#toggle(device);
  }
}

function shownIn(video: HTMLVideoElement): MediaStreamTrack | undefined {
  return video.srcObject instanceof MediaStream ? video.srcObject.getTracks()[0] : undefined;
}

function setLevel(level: number): void {
  const bar = byId('level');
  bar.style.setProperty('--level', level.toFixed(2));
  bar.parentElement?.setAttribute('aria-valuenow', String(Math.round(level * 100)));
}
