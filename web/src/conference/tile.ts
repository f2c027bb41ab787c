import type { ConnectionQuality, Participant, Room, Source } from '../rooms/index.js';
import { el, hue, icon, initials } from './dom.js';
import type { Rect } from './arrange.js';
import { Playback } from './playback.js';

/** A rectangle of the stage: a participant, a shared screen or the room's stream. */
export class Tile {
  readonly element: HTMLElement;
  readonly #video = el('video', { muted: true, autoplay: true, playsinline: true });
  readonly #face = el('div', { class: 'face', 'aria-hidden': 'true' });
  readonly #name = el('span', { class: 'tile-name' });
  readonly #muted = el('span', { class: 'tile-muted', role: 'img', 'aria-label': 'muted' }, icon('microphone-off'));
  readonly #hand = el('span', { class: 'tile-hand', role: 'img', 'aria-label': 'hand raised' }, icon('hand'));
  readonly #quality = el('span', { class: 'tile-quality', role: 'img', hidden: true });
  readonly #mine: boolean;
  readonly #playback: Playback | undefined;

  constructor(
    private readonly room: Room,
    readonly userId: string,
    readonly source: Extract<Source, 'camera' | 'screen' | 'stream-video'>,
  ) {
    this.#mine = userId === room.self?.userId && source !== 'stream-video';
    if (source === 'stream-video') this.#playback = new Playback(room, () => this.#picture());
    this.element = el('figure', { class: 'tile', 'data-user': userId, 'data-source': source },
      this.#face, this.#video, this.#playback?.element, this.#hand, el('figcaption', {}, this.#muted, this.#name, this.#quality));
    this.element.classList.toggle('mine', this.#mine);
    this.#face.style.setProperty('--hue', String(hue(userId)));
  }

  /** Updates the tile to the participant's current state. */
  render(participant: Participant | undefined, speaks: boolean, quality: ConnectionQuality | undefined): void {
    const name = participant?.displayName ?? (this.source === 'stream-video' ? 'Live stream' : this.userId);
    const label = this.source === 'screen' ? (this.#mine ? 'Your screen' : `${name}’s screen`) : this.#mine ? 'You' : name;
    if (this.#name.textContent !== label) this.#name.textContent = label;
    this.#face.textContent = initials(name);
    this.#muted.hidden = this.source !== 'camera' || this.#hears(participant);
    this.#hand.hidden = this.source !== 'camera' || !participant?.handRaised;
    this.element.classList.toggle('speaks', speaks && this.source === 'camera');
    this.#rate(this.source === 'camera' ? quality : undefined);
    this.#picture();
  }

  /** Positions the tile. Without a rectangle it is hidden, and the server doesn't send its picture. */
  place(rect: Rect | undefined, small: boolean): void {
    this.element.hidden = !rect;
    this.element.classList.toggle('small', small);
    if (!rect) return;
    const { style } = this.element;
    style.left = `${rect.x}px`;
    style.top = `${rect.y}px`;
    style.width = `${rect.width}px`;
    style.height = `${rect.height}px`;
  }

  /** The tile's video while it shows a picture. */
  get video(): HTMLVideoElement | undefined {
    return this.#video.hidden || !this.#video.srcObject ? undefined : this.#video;
  }

  #rate(quality: ConnectionQuality | undefined): void {
    if (this.#quality.dataset['quality'] === quality) return;
    this.#quality.hidden = !quality;
    if (!quality) return;
    this.#quality.dataset['quality'] = quality;
    this.#quality.setAttribute('aria-label', `${quality} connection`);
    this.#quality.title = `${quality === 'good' ? 'Good' : 'Poor'} connection`;
    this.#quality.replaceChildren(icon(quality === 'good' ? 'signal' : 'signal-poor'));
  }

  remove(): void {
    this.room.detach(this.#video);
    this.#video.srcObject = null;
    this.#playback?.play(undefined);
    this.element.remove();
  }

  #hears(participant: Participant | undefined): boolean {
    if (this.#mine) return this.room.isOn('microphone');

    return !participant?.muted && this.room.trackOf(this.userId, 'microphone')?.muted === false;
  }

  #picture(): void {
    this.#playback?.play(this.room.fallback?.url);
    const played = this.#playback?.plays ?? false;
    if (this.#playback) this.#playback.element.hidden = !played;
    const shown = this.#mine ? this.#mirror() : this.#watch();
    this.#video.hidden = !shown; // stays visible below the playlist's video, because the server doesn't send a hidden video
    this.#face.hidden = shown || played;
  }

  /** mirror shows the local camera or screen, directly from the device. */
  #mirror(): boolean {
    const track = this.room.local.get(this.source as 'camera' | 'screen');
    const media = track && !track.muted ? track.media : null;
    const now = this.#video.srcObject instanceof MediaStream ? this.#video.srcObject.getTracks()[0] : undefined;
    if (media && now !== media) this.#video.srcObject = new MediaStream([media]);
    if (!media) this.#video.srcObject = null;

    return media !== null && media !== undefined;
  }

  #watch(): boolean {
    const track = this.room.trackOf(this.userId, this.source);
    if (!track) return false;
    this.room.attach(track.id, this.#video);

    return !track.muted;
  }
}
