import type { ClientMessage, MediaSection } from './protocol.js';
import { sessionId } from './sdp.js';

const patienceMs = 3000; // how long ICE stays disconnected before it is restarted

/** The functions of its room that a Subscriber calls. */
export interface SubscriberLink {
  send(message: ClientMessage): void;
  /** Sets the media of a track; undefined when it has none any more. */
  media(id: string, media: MediaStreamTrack | undefined): void;
}

/** The peer connection that receives the tracks of other participants. The server makes the offers. */
export class Subscriber {
  #connection: RTCPeerConnection;
  #session: string | undefined; // session id of the server's offers for this connection
  #bySection = new Map<string, string>();
  #work: Promise<void> = Promise.resolve();
  #candidates: RTCIceCandidateInit[] = [];
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly iceServers: RTCIceServer[],
    private readonly link: SubscriberLink,
  ) {
    this.#connection = this.#open();
  }

  /** The current connection. It is replaced when the server offers another one. */
  get connection(): RTCPeerConnection {
    return this.#connection;
  }

  /** Answers an offer. Offers are answered in the order of their arrival. */
  offered(id: number, sdp: string, sections: MediaSection[]): void {
    this.#work = this.#work.then(() => this.#accept(id, sdp, sections)).catch((error: unknown) => {
      if (!this.#closed) reportError(error);
    });
  }

  /** Adds an ICE candidate of the server. */
  candidate(candidate: RTCIceCandidateInit): void {
    if (!this.connection.remoteDescription) {
      this.#candidates.push(candidate);

      return;
    }
    this.connection.addIceCandidate(candidate).catch(() => undefined); // it belongs to an earlier negotiation
  }

  /** Called when a lost socket was resumed. The server repeats an offer that wasn't answered. */
  resumed(): void {
    this.#watch();
  }

  close(): void {
    this.#closed = true;
    this.#discard();
  }

  #open(): RTCPeerConnection {
    const connection = new RTCPeerConnection({ iceServers: this.iceServers, bundlePolicy: 'max-bundle' });
    connection.onicecandidate = ({ candidate }) => {
      if (candidate?.candidate) this.link.send({ type: 'candidate', pc: 'subscribe', candidate: candidate.toJSON() });
    };
    connection.oniceconnectionstatechange = () => this.#watch();

    return connection;
  }

  #discard(): void {
    clearTimeout(this.#timer);
    this.#connection.onicecandidate = this.#connection.oniceconnectionstatechange = null;
    this.#connection.close();
  }

  /** Opens another connection if the offer is for one: the session id of the offers differs. */
  #follow(session: string): void {
    if (this.#session !== undefined && this.#session !== session) {
      this.#discard();
      this.#connection = this.#open();
    }
    this.#session = session;
  }

  async #accept(id: number, sdp: string, sections: MediaSection[]): Promise<void> {
    if (this.#closed) return;
    this.#follow(sessionId(sdp));
    await this.connection.setRemoteDescription({ type: 'offer', sdp });
    for (const candidate of this.#candidates.splice(0)) this.candidate(candidate);
    await this.connection.setLocalDescription(await this.connection.createAnswer());
    this.link.send({ type: 'answer', id, sdp: this.connection.localDescription?.sdp ?? '' });
    this.#assign(new Map(sections.map((s) => [s.mid, s.id])));
  }

  #assign(bySection: Map<string, string>): void {
    const kept = new Set(bySection.values());
    for (const id of this.#bySection.values()) {
      if (!kept.has(id)) this.link.media(id, undefined);
    }
    this.#bySection = bySection;
    for (const transceiver of this.connection.getTransceivers()) {
      const id = bySection.get(transceiver.mid ?? '');
      if (id) this.link.media(id, transceiver.receiver.track);
    }
  }

  #watch(): void {
    clearTimeout(this.#timer);
    const state = this.connection.iceConnectionState;
    if (state !== 'disconnected' && state !== 'failed') return;
    this.#timer = setTimeout(
      () => {
        this.link.send({ type: 'restart', pc: 'subscribe' });
        this.#timer = setTimeout(() => this.#watch(), patienceMs);
      },
      state === 'failed' ? 0 : patienceMs,
    );
  }
}
