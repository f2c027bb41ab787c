import { type VideoCodec, cameraLayers, preferred, screenLayers, withQuietOpus } from './sdp.js';
import type { ClientMessage, LocalSource, MediaSection, RefusedSection } from './protocol.js';

/** A track that this client publishes. */
export interface LocalTrack {
  readonly source: LocalSource;
  /** The device's media; null while a camera is off. */
  media: MediaStreamTrack | null;
  muted: boolean;
  /** The server's id for the track; undefined until the server has accepted it. */
  id: string | undefined;
}

interface Slot {
  track: LocalTrack;
  transceiver: RTCRtpTransceiver;
  active: boolean;
}

/** The functions of its room that a Publisher calls. */
export interface PublisherLink {
  send(message: ClientMessage): void;
  refused(source: LocalSource, code: string, message: string): void;
  /** Called when the server has accepted the track or confirmed it in a later answer. */
  changed(track: LocalTrack): void;
}

/** Settings for the sent media. */
export interface Sending {
  codec: VideoCodec;
  simulcast: boolean;
  /** Whether the microphone is sent with redundancy, if the browser supports it. */
  red: boolean;
  /** Whether a camera keeps its size on a bad connection and drops frames instead. */
  keepSize: boolean;
}

const patienceMs = 3000; // how long ICE stays disconnected before it is restarted
const againMs = 1000; // before an offer that was answered with rate_limited is repeated

/**
 * The peer connection that sends this client's tracks to the server. The client makes
 * the offers, one at a time. Changes during an open offer go into the next one.
 */
export class Publisher {
  readonly connection: RTCPeerConnection;
  readonly #slots: Slot[] = [];
  #offers = 0;
  #pending: { id: number; sdp: string } | undefined;
  #wanted = false;
  #restart = false;
  #making = false;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #candidates: RTCIceCandidateInit[] = [];

  constructor(
    iceServers: RTCIceServer[],
    private readonly link: PublisherLink,
    private readonly sending: Sending,
  ) {
    this.connection = new RTCPeerConnection({ iceServers, bundlePolicy: 'max-bundle' });
    this.connection.onicecandidate = ({ candidate }) => {
      if (candidate?.candidate) this.link.send({ type: 'candidate', pc: 'publish', candidate: candidate.toJSON() });
    };
    this.connection.oniceconnectionstatechange = () => this.#watch();
  }

  /** Adds a track. It reuses the media section of a removed track with the same source, if there is one. */
  async add(track: LocalTrack): Promise<void> {
    const before = this.#slots.find((slot) => !slot.active && slot.track.source === track.source);
    if (before) {
      before.track = track;
      before.active = true;
      before.transceiver.direction = 'sendonly';
      await before.transceiver.sender.replaceTrack(track.media);
    } else if (track.media) {
      this.#slots.push({ track, transceiver: this.#transceiver(track, track.media), active: true });
    }
    this.#negotiate();
  }

  /** Stops sending a track. */
  async remove(track: LocalTrack): Promise<void> {
    const slot = this.#slot(track);
    if (!slot) return;
    slot.active = false;
    track.id = undefined;
    slot.transceiver.direction = 'inactive';
    await slot.transceiver.sender.replaceTrack(null);
    this.#negotiate();
  }

  /** Replaces the media of a track; null sends none. */
  async replace(track: LocalTrack, media: MediaStreamTrack | null): Promise<void> {
    const slot = this.#slot(track);
    if (slot) await slot.transceiver.sender.replaceTrack(media);
    else if (media) await this.add(track); // it was off when the connection was made, so it has no section yet
  }

  /** Handles the server's answer to an offer. */
  async answered(id: number, sdp: string, sections: MediaSection[], refused: RefusedSection[]): Promise<void> {
    if (this.#closed || id !== this.#pending?.id) return;
    await this.connection.setRemoteDescription({ type: 'answer', sdp: withQuietOpus(sdp) });
    this.#pending = undefined;
    for (const candidate of this.#candidates.splice(0)) void this.candidate(candidate);
    for (const { mid, id: name } of sections) {
      const slot = this.#slots.find((s) => s.transceiver.mid === mid);
      if (!slot?.active) continue;
      const fresh = slot.track.id !== name;
      slot.track.id = name;
      if (fresh && slot.track.muted) this.link.send({ type: 'mute', id: name, muted: true });
      this.link.changed(slot.track);
    }
    for (const { mid, code, message } of refused) {
      const slot = this.#slots.find((s) => s.transceiver.mid === mid && s.active);
      if (slot) this.link.refused(slot.track.source, code, message);
    }
    if (this.#wanted) this.#negotiate();
  }

  /** Whether the offer with this id still waits for the server's answer. */
  awaits(id: number): boolean {
    return !this.#closed && id === this.#pending?.id;
  }

  /**
   * Rolls back the pending offer, which the server refused as a whole. Tracks that the server accepted before continue.
   * After `rate_limited` the offer is not rolled back but repeated.
   */
  async refused(code: string): Promise<void> {
    const pending = this.#pending;
    if (!pending) return;
    if (code === 'rate_limited') {
      setTimeout(() => this.awaits(pending.id) && this.#offer(pending), againMs);

      return;
    }
    this.#pending = undefined;
    this.#making = true; // so that no offer is made before the rollback is complete
    try {
      await this.connection.setLocalDescription({ type: 'rollback' });
    } finally {
      this.#making = false;
    }
    // Slots whose sections the server never accepted are kept and used again when their sources are switched on again:
    // Chromium would mistake a new transceiver for the stopped one, and its section would have no mid. Such slots alone
    // are no reason for an offer.
    const worthwhile = this.#slots.some(({ active, transceiver }) => active || transceiver.currentDirection !== null);
    if (this.#wanted && worthwhile) this.#negotiate();
  }

  /** Adds an ICE candidate of the server. */
  async candidate(candidate: RTCIceCandidateInit): Promise<void> {
    if (!this.connection.remoteDescription) {
      this.#candidates.push(candidate);

      return;
    }
    await this.connection.addIceCandidate(candidate).catch(() => undefined); // it belongs to an earlier negotiation
  }

  /** Activates the layers that have a viewer, the smallest first. The browser doesn't encode the others. */
  async layers(id: string, active: boolean[]): Promise<void> {
    const sender = this.#slots.find((slot) => slot.track.id === id)?.transceiver.sender;
    const parameters = sender?.getParameters();
    if (!sender || !parameters?.encodings?.length) return;
    parameters.encodings.forEach((encoding, i) => (encoding.active = active[i] ?? false));
    await sender.setParameters(parameters).catch(() => undefined); // the track was removed in the meantime
  }

  /** Called when a lost socket was resumed. Repeats the pending offer or makes a new one, since messages may have been lost. */
  resumed(): void {
    if (this.#pending) this.#offer(this.#pending);
    else this.#negotiate();
    this.#watch();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.connection.onicecandidate = this.connection.oniceconnectionstatechange = null;
    this.connection.close();
  }

  #slot(track: LocalTrack): Slot | undefined {
    return this.#slots.find((slot) => slot.track === track && slot.active);
  }

  #transceiver(track: LocalTrack, media: MediaStreamTrack): RTCRtpTransceiver {
    const init: RTCRtpTransceiverInit = { direction: 'sendonly' };
    if (track.source === 'camera' && this.sending.simulcast) {
      init.sendEncodings = cameraLayers(media.getSettings().height ?? 0);
    } else if (media.kind === 'video') {
      init.sendEncodings = track.source === 'camera' ? [{ maxBitrate: 2_500_000 }] : screenLayers.map((layer) => ({ ...layer }));
    }
    const transceiver = this.connection.addTransceiver(media, init);
    const wanted = media.kind === 'video' ? this.sending.codec : track.source === 'microphone' && this.sending.red && 'red';
    const codecs = wanted ? RTCRtpSender.getCapabilities?.(media.kind as 'audio' | 'video')?.codecs : undefined;
    // Older versions of Firefox can't choose a codec. The server accepts the codecs that they offer.
    if (wanted && codecs && 'setCodecPreferences' in transceiver) transceiver.setCodecPreferences(preferred(codecs, wanted));
    if (track.source === 'camera' && this.sending.keepSize) void keepSize(transceiver.sender);

    return transceiver;
  }

  /** negotiate offers the current tracks to the server, after the answer to the previous offer. */
  #negotiate(): void {
    this.#wanted = true;
    if (this.#making || this.#pending || this.#closed || this.#slots.length === 0) return;
    this.#making = true;
    // Tracks that are added before this microtask runs go into the same offer.
    queueMicrotask(() => void this.#make());
  }

  async #make(): Promise<void> {
    try {
      this.#wanted = false;
      const offer = await this.connection.createOffer({ iceRestart: this.#restart });
      this.#restart = false;
      await this.connection.setLocalDescription(offer);
      this.#pending = { id: ++this.#offers, sdp: this.connection.localDescription?.sdp ?? '' };
      this.#offer(this.#pending);
    } catch (error) {
      if (!this.#closed) throw error;
    } finally {
      this.#making = false;
    }
  }

  #offer(pending: { id: number; sdp: string }): void {
    const tracks = this.#slots.flatMap(({ track, transceiver, active }) =>
      active && transceiver.mid ? [{ mid: transceiver.mid, source: track.source }] : [],
    );
    this.link.send({ type: 'offer', ...pending, tracks });
  }

  /** watch restarts ICE when the connection has failed or has been disconnected for patienceMs, until it works again. */
  #watch(): void {
    clearTimeout(this.#timer);
    const state = this.connection.iceConnectionState;
    if (state !== 'disconnected' && state !== 'failed') return;
    this.#timer = setTimeout(
      () => {
        this.#restart = true;
        this.#negotiate();
        this.#timer = setTimeout(() => this.#watch(), patienceMs);
      },
      state === 'failed' ? 0 : patienceMs,
    );
  }
}

/** keepSize asks the browser to keep the picture's size. Browsers that don't support this decide by themselves. */
async function keepSize(sender: RTCRtpSender): Promise<void> {
  const parameters = sender.getParameters();
  parameters.degradationPreference = 'maintain-resolution';
  await sender.setParameters(parameters).catch(() => undefined);
}
