import { Centrifuge, State, type Subscription } from 'centrifuge';

import { Emitter } from './emitter.js';
import type {
  Caption, ChatMessageCreatedData, ChatMessageDeletedData, ChatMessageEditedData, RealtimeAuction, RealtimeAuctionBid, RealtimeDiscountDrop,
  RealtimeHearts, RealtimeProductPin, RealtimeProducts, RealtimeShow, RealtimeStockTick, SessionBreakoutsClosedData, SessionBreakoutsCreatedData, SessionEndedData,
  SessionHandraiseLoweredData, SessionHandraiseRaisedData, SessionMutedAllData, SessionParticipantKickedData,
  SessionParticipantMutedData, SessionParticipantPromotedData, SessionParticipantUpdatedData, SessionRecordingStartedData, SessionRecordingStoppedData,
  SessionSpotlightData, SessionStartedData, SessionSummaryReadyData, SessionUpdatedData,
} from '../gen/api.js';

/** The data of the publications in a room, by type. */
export interface Publications {
  'chat.message': ChatMessageCreatedData;
  'chat.edited': ChatMessageEditedData;
  'chat.deleted': ChatMessageDeletedData;
  'prod-pin': RealtimeProductPin;
  'stock-tick': RealtimeStockTick;
  heart: RealtimeHearts;
  'discount-drop': RealtimeDiscountDrop;
  'auction-bid': RealtimeAuctionBid;
  'auction-started': RealtimeAuction;
  'auction-ended': RealtimeAuction;
  'show-updated': RealtimeShow;
  'products-updated': RealtimeProducts;
  'session.started': SessionStartedData;
  'session.ended': SessionEndedData;
  'session.updated': SessionUpdatedData;
  'session.participant.updated': SessionParticipantUpdatedData;
  'session.participant.kicked': SessionParticipantKickedData;
  'session.participant.muted': SessionParticipantMutedData;
  'session.participant.promoted': SessionParticipantPromotedData;
  'session.handraise.raised': SessionHandraiseRaisedData;
  'session.handraise.lowered': SessionHandraiseLoweredData;
  'session.spotlight': SessionSpotlightData;
  'session.muted-all': SessionMutedAllData;
  'session.recording.started': SessionRecordingStartedData;
  'session.recording.stopped': SessionRecordingStoppedData;
  'session.breakouts.created': SessionBreakoutsCreatedData;
  'session.breakouts.closed': SessionBreakoutsClosedData;
  'session.summary.ready': SessionSummaryReadyData;
  'session.caption': Caption;
}

const aliveMs = 3000; // the longest wait for an answer of a connection that works

/** A publication of any type. */
export type Publication = { [Type in keyof Publications]: { type: Type; data: Publications[Type] } }[keyof Publications];

/** The events of a RealtimeRoom: these, and each publication by its type. */
export interface RealtimeEvents extends Publications {
  /** Every publication. */
  publication: Publication;
  /**
   * The subscription is active. `recovered` is false after the first subscription and
   * after a disconnection that was too long for recovery: then load the state again.
   */
  subscribed: { recovered: boolean };
  /** The subscription is being made or restored: no publications arrive for now. */
  subscribing: void;
  /** The server refused or ended the subscription. */
  refused: { code: number; reason: string };
}

/** A subscription to the publications of one room. */
export class RealtimeRoom extends Emitter<RealtimeEvents> {
  #hearts = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pending = false;

  constructor(private readonly subscription: Subscription) {
    super();
    subscription.on('publication', ({ data }) => {
      const publication = data as Publication;
      this.emit('publication', publication);
      this.emit(publication.type, publication.data);
    });
    subscription.on('subscribed', ({ wasRecovering, recovered }) => {
      this.#pending = false;
      this.emit('subscribed', { recovered: wasRecovering && recovered });
    });
    subscription.on('subscribing', () => {
      if (!this.#pending) this.emit('subscribing', undefined);
      this.#pending = true;
    });
    subscription.on('unsubscribed', ({ code, reason }) => {
      if (code !== 0) this.emit('refused', { code, reason });
    });
  }

  /** Sends hearts. All hearts within 250 ms are sent as one publication. */
  sendHearts(count = 1): void {
    this.#hearts += count;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const sent = this.#hearts;
      this.#hearts = 0;
      this.#publish({ type: 'heart', data: { count: sent } }).catch(() => undefined); // a lost heart doesn't matter
    }, 250);
  }

  /** Pins a product, so that all participants see it. Only the room's host may do this. */
  pin(productId: string): Promise<void> {
    return this.#publish({ type: 'prod-pin', data: { id: productId } });
  }

  /** Ends the subscription. */
  leave(): void {
    clearTimeout(this.#timer);
    this.subscription.unsubscribe();
  }

  async #publish(publication: Publication): Promise<void> {
    await this.subscription.publish(publication);
  }
}

/**
 * A connection to the realtime channel, which delivers the publications of rooms. It
 * reconnects by itself. After a disconnection of up to 30 seconds the missed publications arrive.
 *
 * ```ts
 * const realtime = new Realtime({ token });
 * const room = realtime.room(sessionId);
 * room.on('chat.message', (message) => show(message.authorName, message.body));
 * room.sendHearts();
 * ```
 */
export class Realtime extends Emitter<{
  /** The server ended the connection, or the token is no longer valid: it isn't made again. */
  disconnected: { code: number; reason: string };
}> {
  readonly #client: Centrifuge;
  readonly #rooms = new Map<string, RealtimeRoom>();

  /**
   * @param options `token`: a participant token, a tenant JWT or an API key; `room`: the breakout room to open with a
   * participant token of the main room; `url`: the channel's WebSocket, if it isn't on the page's own server
   */
  constructor(options: { token: string; room?: string; url?: string }) {
    super();
    const url = options.url ?? `${location.origin.replace(/^http/, 'ws')}/v1/realtime/websocket`;
    this.#client = new Centrifuge(url, {
      token: options.token, data: options.room ? { room: options.room } : undefined, minReconnectDelay: 250, maxReconnectDelay: 5000,
    });
    this.#client.on('disconnected', ({ code, reason }) => {
      if (code !== 0) this.emit('disconnected', { code, reason }); // 0: close() was called
    });
    this.#client.connect();
  }

  /** Subscribes to a room, or returns the existing subscription. */
  room(id: string): RealtimeRoom {
    const known = this.#rooms.get(id);
    if (known) return known;
    const subscription = this.#client.newSubscription(`room:${id}`, { minResubscribeDelay: 250, maxResubscribeDelay: 5000 });
    const room = new RealtimeRoom(subscription);
    this.#rooms.set(id, room);
    subscription.subscribe();

    return room;
  }

  /** Ends the subscription to a room. */
  leave(id: string): void {
    this.#rooms.get(id)?.leave();
    this.#rooms.delete(id);
    const subscription = this.#client.getSubscription(`room:${id}`);
    if (subscription) this.#client.removeSubscription(subscription);
  }

  /** Sets the token of later connections. The current one goes on until the server ends it, when its own token expires. */
  renew(token: string): void {
    this.#client.setToken(token);
  }

  /**
   * Connects again if the server doesn't answer within 3 seconds. Call it after sleep: a connection that ended meanwhile looks open until
   * the server's pings are missed, which takes up to 35 seconds.
   */
  async check(): Promise<void> {
    if (this.#client.state !== State.Connected) return; // it connects by itself
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silent = new Promise<boolean>((done) => (timer = setTimeout(() => done(true), aliveMs)));
    // There is no such call: the refusal is an answer.
    const answered = this.#client.rpc('', null).then(() => false, () => false);
    if ((await Promise.race([silent, answered])) && this.#client.state === State.Connected) {
      this.#client.disconnect();
      this.#client.connect();
    }
    clearTimeout(timer);
  }

  /** Ends all subscriptions and the connection. */
  close(): void {
    // Disconnects first, so that leave() sends nothing on a socket that is closing.
    this.#client.disconnect();
    for (const id of [...this.#rooms.keys()]) this.leave(id);
  }
}
