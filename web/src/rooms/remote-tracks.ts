import { Pictures } from './pictures.js';
import type { Track } from './protocol.js';
import type { RoomEvents } from './room-events.js';
import { Sound } from './sound.js';
import type { Views } from './views.js';

/** Called for an event of the remote tracks. */
type Emit = <Name extends 'track' | 'untrack' | 'media' | 'silenced'>(name: Name, detail: RoomEvents[Name]) => void;

/**
 * The tracks of other participants and of the room's stream, with their media. A track is announced on the socket and its media
 * arrives by WebRTC, in either order.
 */
export class RemoteTracks {
  readonly sound: Sound;
  readonly #pictures: Pictures;
  readonly #tracks = new Map<string, Track>();
  readonly #media = new Map<string, MediaStreamTrack>();

  /** @param playSound whether the media of sound is played here */
  constructor(private readonly views: Views, private readonly playSound: boolean, private readonly emit: Emit) {
    this.#pictures = new Pictures(views);
    this.sound = new Sound(() => emit('silenced', undefined));
  }

  /** The announced tracks by id. */
  get all(): ReadonlyMap<string, Track> { return this.#tracks; }

  /** The media of a track; undefined before it has arrived. */
  mediaOf(id: string): MediaStreamTrack | undefined {
    return this.#media.get(id);
  }

  /** Shows a video track in the element, as soon as its media is here. */
  attach(id: string, element: HTMLVideoElement): void {
    this.#pictures.attach(id, element, this.#media.get(id));
  }

  /** Stops showing a track in the element. */
  detach(element: HTMLVideoElement): void {
    this.#pictures.detach(element);
  }

  /** Adds an announced track, or changes it. */
  add(track: Track): void {
    const isNew = !this.#tracks.has(track.id);
    this.#tracks.set(track.id, track);
    if (track.kind === 'video') this.views.add(track.id);
    this.emit('track', track);
    if (isNew && this.#media.has(track.id)) this.emit('media', track);
  }

  /** Removes a track and its media. */
  remove(id: string): void {
    const track = this.#tracks.get(id);
    if (!track) return;
    this.receive(id, undefined);
    this.#tracks.delete(id);
    this.views.remove(id);
    this.#pictures.detachAll(id);
    this.emit('untrack', track);
  }

  /** Removes the tracks of a participant who has left. */
  removeOf(userId: string): void {
    for (const track of [...this.#tracks.values()]) if (track.userId === userId) this.remove(track.id);
  }

  /** Removes the tracks whose ids are not among these. */
  removeOthers(kept: ReadonlySet<string>): void {
    for (const id of [...this.#tracks.keys()]) if (!kept.has(id)) this.remove(id);
  }

  /** Sets the media of a track; undefined when the media has ended. */
  receive(id: string, media: MediaStreamTrack | undefined): void {
    if (this.#media.get(id) === media) return;
    if (media) this.#media.set(id, media);
    else this.#media.delete(id);
    if (this.playSound && (media ?? this.#tracks.get(id))?.kind === 'audio') this.sound.play(id, media);
    this.#pictures.changed(id, media);
    const track = this.#tracks.get(id);
    if (track && media) this.emit('media', track);
  }

  /** Drops all media, because the connection that it came by is closed. */
  dropMedia(): void {
    for (const id of [...this.#media.keys()]) this.receive(id, undefined);
  }

  /** Stops the sound and clears the elements. */
  close(): void {
    this.sound.close();
    this.views.close();
    this.#pictures.detachAll();
  }
}
