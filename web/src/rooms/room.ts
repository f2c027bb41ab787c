import { capture, captureScreen } from './devices.js';
import { Emitter } from './emitter.js';
import { mutesToRepeat } from './mutes.js';
import { type LocalTrack, Publisher } from './publisher.js';
import { RemoteTracks } from './remote-tracks.js';
import { Signal } from './signal.js';
import { Subscriber } from './subscriber.js';
import { Views } from './views.js';
import { type Closed, RoomError, type RoomEvents, type RoomOptions, type RoomState } from './room-events.js';
import {
  type Bye, type Fallback, type LocalSource, type Participant, type Perms, type ServerMessage, type SessionState, type Source,
  type Speaker, type Track, type Welcome, permOf,
} from './protocol.js';

/**
 * The connection of one participant to a room of the SFU.
 *
 * ```ts
 * const room = new Room({ url: sfuUrl, token, room: sessionId });
 * room.on('media', (track) => {
 *   if (track.kind === 'video') room.attach(track.id, videoOf(track.userId));
 * });
 * await room.connect();
 * await room.setMicrophone(true);
 * await room.setCamera(true);
 * ```
 *
 * Sound plays by itself. A lost connection is restored by itself: within 30 seconds
 * it is resumed, later the room is joined again with the same tracks.
 */
export class Room extends Emitter<RoomEvents> {
  readonly #options: RoomOptions;
  readonly #signal: Signal;
  readonly #views: Views;
  readonly #remote: RemoteTracks;
  readonly #participants = new Map<string, Participant>();
  readonly #local = new Map<LocalSource, LocalTrack>();
  /** Ids of the tracks whose mute was sent again after a loss of the socket. */
  readonly #repeated = new Set<string>();
  #iceServers: RTCIceServer[] = [];
  #publisher: Publisher | undefined;
  #subscriber: Subscriber | undefined;
  #state: RoomState = 'new';
  #self: Participant | undefined;
  #session: SessionState = {};
  #audience = 0;
  #speakers: Speaker[] = [];
  #kind: 'session' | 'stream' = 'session';
  #fallback: Fallback | undefined;

  constructor(options: RoomOptions) {
    super();
    this.#options = options;
    this.#views = new Views((tracks) => this.#signal.send({ type: 'view', tracks }));
    this.#remote = new RemoteTracks(this.#views, options.playSound !== false, (name, detail) => this.emit(name, detail));
    this.#signal = new Signal(options.url, options.token, options.room, options.watch ?? false, {
      welcome: (message) => void this.#welcomed(message),
      message: (message) => void this.#hear(message),
      lost: () => this.#enter('reconnecting'),
      over: (bye) => this.#close(bye),
    });
  }

  /** The room's id. */
  get id(): string { return this.#options.room; }
  get state(): RoomState { return this.#state; }
  /** Whether it is a session's room or a stream's. */
  get kind(): 'session' | 'stream' { return this.#kind; }
  /** The local participant; undefined before the first welcome. */
  get self(): Participant | undefined { return this.#self; }
  /** The announced participants by user id, including the local one. */
  get participants(): ReadonlyMap<string, Participant> { return this.#participants; }
  /** The tracks of other participants and of the room's stream, by id. */
  get tracks(): ReadonlyMap<string, Track> { return this.#remote.all; }
  /** The local tracks by source. */
  get local(): ReadonlyMap<LocalSource, LocalTrack> { return this.#local; }
  get session(): SessionState { return this.#session; }
  get audience(): number { return this.#audience; }
  /** The HLS playlist to play while the room can't show its stream; undefined while it can. */
  get fallback(): Fallback | undefined { return this.#fallback; }
  get speakers(): readonly Speaker[] { return this.#speakers; }

  /** Connects. Resolves when the participant is in the room or in the waiting room; rejects with a RoomError. */
  connect(): Promise<void> {
    this.#enter('connecting');

    return new Promise((resolve, reject) => {
      const offs = [
        this.on('welcome', () => done(resolve)),
        this.on('closed', ({ code, message }) => done(() => reject(new RoomError(code, message)))),
      ];
      const done = (then: () => void): void => {
        offs.forEach((off) => off());
        then();
      };
      this.#signal.open();
    });
  }

  /** Leaves permanently and switches the local devices off. */
  leave(): void {
    if (this.#state !== 'closed') this.#close({ code: 'left', message: 'You left.' });
  }

  /** Whether the source is on: published and not muted. */
  isOn(source: LocalSource): boolean {
    const track = this.#local.get(source);

    return track !== undefined && !track.muted;
  }

  /**
   * Switches the microphone on or mutes it. The first call opens the device, and the browser may ask the user.
   *
   * @throws the browser's DOMException if there is no microphone or the user doesn't allow it
   */
  async setMicrophone(on: boolean, deviceId?: string): Promise<void> {
    const track = this.#local.get('microphone');
    if (on && (!track || deviceId)) await this.publish('microphone', await capture('microphone', deviceId));
    else if (track && track.muted === on) this.#mute(track, !on);
  }

  /** Switches the camera on or off. Off stops the device, so its light goes out. */
  async setCamera(on: boolean, deviceId?: string): Promise<void> {
    const track = this.#local.get('camera');
    if (on && (!track?.media || deviceId)) {
      await this.publish('camera', await capture('camera', deviceId));
    } else if (track && !on && !track.muted) {
      this.#mute(track, true);
      track.media?.stop();
      track.media = null;
      await this.#publisher?.replace(track, null);
      this.emit('local', 'camera');
    }
  }

  /** Shares a screen, window or tab that the user chooses, with its sound if the browser provides it; or stops sharing. */
  async setScreen(on: boolean): Promise<void> {
    if (!on) {
      await Promise.all([this.unpublish('screen'), this.unpublish('screen-audio')]);

      return;
    }
    const { video, audio } = await captureScreen();
    await this.publish('screen', video);
    if (audio) await this.publish('screen-audio', audio);
  }

  /**
   * Publishes media from the caller, or replaces the media of the track with the same
   * source. The room stops the media when the track or the room ends.
   */
  async publish(source: LocalSource, media: MediaStreamTrack): Promise<void> {
    media.addEventListener('ended', () => this.#ended(source, media));
    const before = this.#local.get(source);
    if (before) {
      before.media?.stop();
      before.media = media;
      await this.#publisher?.replace(before, media);
      if (before.muted) this.#mute(before, false);
      else this.emit('local', source);

      return;
    }
    const track: LocalTrack = { source, media, muted: false, id: undefined };
    this.#local.set(source, track);
    this.emit('local', source);
    if (this.#may(source)) await this.#publisher?.add(track);
  }

  /** Removes a local track from the room and stops its device. */
  async unpublish(source: LocalSource): Promise<void> {
    const track = this.#local.get(source);
    if (!track) return;
    this.#local.delete(source);
    track.media?.stop();
    this.emit('local', source);
    await this.#publisher?.remove(track);
  }

  /** Shows a video track in the element. The server sends no larger picture than the element displays. */
  attach(trackId: string, element: HTMLVideoElement): void {
    this.#remote.attach(trackId, element);
  }

  /** Stops showing a track in the element. */
  detach(element: HTMLVideoElement): void {
    this.#remote.detach(element);
  }

  /** Reports to the server that the element shows a video track, as attach() does, for a page that sets `srcObject` itself. */
  observe(trackId: string, element: HTMLVideoElement): void {
    this.#views.observe(element, trackId);
  }

  /** Ends observe(). */
  unobserve(element: HTMLVideoElement): void {
    this.#views.unobserve(element);
  }

  /** The media of a track, for uses other than attach(); undefined before the event `media`. */
  mediaOf(trackId: string): MediaStreamTrack | undefined {
    return this.#remote.mediaOf(trackId);
  }

  /** A participant's track with this source. */
  trackOf(userId: string, source: Source): Track | undefined {
    return [...this.tracks.values()].find((track) => track.userId === userId && track.source === source);
  }

  /** Sends up to 16 KiB to all participants, or to the user ids in `to`. Only participants who may publish can send data. */
  sendData(topic: string, payload: string, to?: string[]): void {
    this.#signal.send({ type: 'data', topic, payload, ...(to ? { to } : {}) });
  }

  /** Merges properties of the session that the caller got from the API or the realtime channel. */
  learn(session: SessionState): void {
    this.#session = { ...this.#session, ...session };
    this.emit('session', this.#session);
  }

  /** Plays the sound that the browser blocked. Call it in a click handler. */
  startSound(): Promise<void> {
    return this.#remote.sound.start();
  }

  /** Plays or silences a track's sound. All other tracks are played. */
  setHeard(trackId: string, heard: boolean): void {
    this.#remote.sound.setHeard(trackId, heard);
  }

  /** Plays sound on this loudspeaker, if the browser can select one. */
  setSpeaker(deviceId: string): Promise<void> {
    return this.#remote.sound.use(deviceId);
  }

  /** The statistics of the two peer connections; undefined for a connection that doesn't exist yet. */
  async stats(): Promise<{ publish: RTCStatsReport | undefined; subscribe: RTCStatsReport | undefined }> {
    const [publish, subscribe] = await Promise.all([
      this.#publisher?.connection.getStats(), this.#subscriber?.connection.getStats(),
    ]);

    return { publish, subscribe };
  }

  async #welcomed(message: Welcome): Promise<void> {
    const again = this.#publisher !== undefined;
    const { self } = message;
    const wasMuted = this.#self?.muted;
    this.#kind = message.kind;
    this.#self = self;
    this.#session = { ...this.#session, ...message.session };
    this.#audience = message.audience ?? 0;
    this.#participants.clear();
    for (const participant of [...(message.participants ?? []), self]) this.#participants.set(participant.userId, participant);
    if (!message.resumed) this.#fallBack(null);
    this.#replaceTracks(message.tracks ?? []);
    if (self.state === 'waiting') {
      this.#enter('waiting');
      this.emit('welcome', undefined);

      return;
    }
    if (message.resumed && again) {
      this.#publisher?.resumed();
      this.#subscriber?.resumed();
      for (const mute of mutesToRepeat([...this.#local.values()], self.muted)) {
        this.#repeated.add(mute.id);
        this.#signal.send(mute);
      }
    } else {
      // A participant who is muted now but wasn't before the loss was muted by a moderator in the meantime.
      if (again && self.muted && !wasMuted) this.#muteByOthers();
      this.#connectMedia(message.iceServers ?? []);
    }
    this.#views.forget();
    this.#enter('joined');
    this.emit('welcome', undefined);
    await this.#permit(self.perms);
  }

  /** connectMedia makes both peer connections and publishes the local tracks. */
  #connectMedia(iceServers: RTCIceServer[]): void {
    this.#disconnectMedia();
    const send = this.#signal.send.bind(this.#signal);
    this.#subscriber = new Subscriber(iceServers, { send, media: (id, media) => this.#remote.receive(id, media) });
    this.#iceServers = iceServers;
    this.#openPublisher();
  }

  /** openPublisher replaces the connection for publishing and publishes the local tracks on it. */
  #openPublisher(): void {
    this.#publisher?.close();
    const airs = this.#kind === 'stream' && this.#self?.role === 'host';
    this.#publisher = new Publisher(
      this.#iceServers,
      {
        send: this.#signal.send.bind(this.#signal),
        refused: (source, code, message) => {
          void this.unpublish(source);
          this.emit('refused', { what: source, code, message });
        },
        changed: (track) => this.#published(track),
      },
      // The tracks of a stream's host become a broadcast, which takes H.264 in one size.
      { codec: airs ? 'h264' : 'vp8', simulcast: !airs, red: true, ...this.#options, keepSize: airs },
    );
    for (const track of this.#local.values()) {
      track.id = undefined;
      if (this.#may(track.source)) void this.#publisher.add(track);
    }
  }

  #disconnectMedia(): void {
    this.#publisher?.close();
    this.#subscriber?.close();
    this.#publisher = this.#subscriber = undefined;
    this.#remote.dropMedia();
  }

  /**
   * offerRefused handles an offer that the server refused as a whole: it unpublishes the tracks that the server has not
   * accepted. Tracks that the server accepted before continue.
   */
  async #offerRefused(code: string, message: string): Promise<void> {
    if (code !== 'rate_limited') {
      for (const { source } of [...this.#local.values()].filter(({ id }) => !id)) {
        await this.unpublish(source);
        this.emit('refused', { what: source, code, message });
      }
    }
    // After a malformed offer the server has closed the connection with all its tracks.
    if (code === 'bad_message') this.#openPublisher();
    else await this.#publisher?.refused(code);
  }

  /** published handles a track that the server has accepted. The server keeps an earlier mute, so an unmuted microphone sends an unmute. */
  #published(track: LocalTrack): void {
    if (track.source === 'microphone' && track.id && !track.muted && this.#self?.muted) {
      this.#signal.send({ type: 'mute', id: track.id, muted: false });
    }
    this.emit('local', track.source);
  }

  async #hear(message: ServerMessage): Promise<void> {
    switch (message.type) {
      case 'answer':
        return this.#publisher?.answered(message.id, message.sdp, message.tracks ?? [], message.refused ?? []);
      case 'offer':
        return this.#subscriber?.offered(message.id, message.sdp, message.tracks ?? []);
      case 'candidate':
        if (!message.candidate?.candidate) return;

        return (message.pc === 'publish' ? this.#publisher : this.#subscriber)?.candidate(message.candidate);
      case 'layers':
        return this.#publisher?.layers(message.id, message.active);
      case 'participant':
        return this.#changed(message.participant);
      case 'left':
        this.#participants.delete(message.userId);
        this.#remote.removeOf(message.userId);

        return this.emit('left', { userId: message.userId, reason: message.reason });
      case 'track':
        return this.#track(message.track);
      case 'untrack':
        return this.#remote.remove(message.id);
      case 'audience':
        this.#audience = message.count;

        return this.emit('audience', message.count);
      case 'speakers':
        this.#speakers = message.speakers;

        return this.emit('speakers', message.speakers);
      case 'session':
        this.#session = { ...this.#session, ...message.session };

        return this.emit('session', this.#session);
      case 'data':
        return this.emit('data', { from: message.from, topic: message.topic, payload: message.payload });
      case 'fallback':
        return this.#fallBack(message.fallback);
      case 'error':
        if (message.re === 'restart') return; // the subscriber repeats it until the connection works
        // A moderator has muted this participant, and the page shows it. The library sent the refused unmute, not the user.
        if (message.code === 'forbidden' && this.#repeated.delete(String(message.re))) return;
        if (typeof message.re === 'number' && this.#publisher?.awaits(message.re)) return this.#offerRefused(message.code, message.message);

        return this.emit('refused', { what: String(message.re ?? ''), code: message.code, message: message.message });
    }
  }

  #fallBack(fallback: Fallback | null): void {
    if (!fallback && !this.#fallback) return;
    this.#fallback = fallback ?? undefined;
    this.emit('fallback', this.#fallback);
  }

  async #changed(participant: Participant): Promise<void> {
    this.#participants.set(participant.userId, participant);
    if (participant.userId !== this.#self?.userId) return this.emit('participant', participant);
    const wasMuted = this.#self.muted;
    this.#self = participant;
    if (participant.muted && !wasMuted) this.#muteByOthers();
    this.emit('participant', participant);
    await this.#permit(participant.perms);
  }

  /** permit unpublishes the sources that the participant may no longer publish. */
  async #permit(perms: Perms): Promise<void> {
    if (this.#self?.state === 'waiting') return; // local tracks are kept, and published on admission
    for (const track of [...this.#local.values()]) {
      if (!perms[permOf[track.source]]) {
        await this.unpublish(track.source);
        this.emit('ended', track.source);
      }
    }
  }

  #may(source: LocalSource): boolean {
    return this.#self?.perms[permOf[source]] ?? false;
  }

  #muteByOthers(): void {
    const track = this.#local.get('microphone');
    if (!track || track.muted) return;
    track.muted = true;
    if (track.media) track.media.enabled = false;
    this.emit('local', 'microphone');
    this.emit('muted', undefined);
  }

  #mute(track: LocalTrack, muted: boolean): void {
    track.muted = muted;
    if (track.media) track.media.enabled = !muted;
    if (track.id) {
      this.#repeated.delete(track.id);
      this.#signal.send({ type: 'mute', id: track.id, muted });
    }
    this.emit('local', track.source);
  }

  /** ended handles a device that was unplugged, or a screen that the user stopped sharing in the browser's own bar. */
  #ended(source: LocalSource, media: MediaStreamTrack): void {
    if (this.#local.get(source)?.media !== media) return;
    void this.unpublish(source);
    if (source === 'screen') void this.unpublish('screen-audio');
    this.emit('ended', source);
  }

  #replaceTracks(tracks: Track[]): void {
    this.#remote.removeOthers(new Set(tracks.map(({ id }) => id)));
    for (const track of tracks) this.#track(track);
  }

  /** track adds a track of another participant or of the room's stream. The server announces the local tracks too. */
  #track(track: Track): void {
    if (track.userId !== this.#self?.userId || track.source.startsWith('stream-')) this.#remote.add(track);
  }

  #enter(state: RoomState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    this.emit('state', state);
  }

  #close(why: Closed | Bye): void {
    if (this.#state === 'closed') return;
    this.#signal.close();
    this.#disconnectMedia();
    for (const track of this.#local.values()) track.media?.stop();
    this.#remote.close();
    this.#enter('closed');
    this.emit('closed', { code: why.code, message: why.message });
  }
}
