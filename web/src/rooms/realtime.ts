import { Centrifuge, type Subscription } from 'centrifuge';

import { Emitter } from './emitter.js';
import type {
  ChatMessageCreatedData, ChatMessageDeletedData, ChatMessageEditedData, RealtimeAuctionBid, RealtimeDiscountDrop, RealtimeHearts,
  RealtimeProductPin, RealtimeStockTick, SessionBreakoutsClosedData, SessionBreakoutsCreatedData, SessionEndedData,
  SessionHandraiseLoweredData, SessionHandraiseRaisedData, SessionMutedAllData, SessionParticipantKickedData,
  SessionParticipantPromotedData, SessionParticipantUpdatedData, SessionRecordingStartedData, SessionRecordingStoppedData,
  SessionSpotlightData, SessionStartedData, SessionSummaryReadyData, SessionUpdatedData,
} from '../gen/api.js';

/** What is published in a room, by its type. */
export interface Publications {
  'chat.message': ChatMessageCreatedData;
  'chat.edited': ChatMessageEditedData;
  'chat.deleted': ChatMessageDeletedData;
  'prod-pin': RealtimeProductPin;
  'stock-tick': RealtimeStockTick;
  heart: RealtimeHearts;
  'discount-drop': RealtimeDiscountDrop;
  'auction-bid': RealtimeAuctionBid;
  'session.started': SessionStartedData;
  'session.ended': SessionEndedData;
  'session.updated': SessionUpdatedData;
  'session.participant.updated': SessionParticipantUpdatedData;
  'session.participant.kicked': SessionParticipantKickedData;
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
}

/** A publication of any type. */
export type Publication = { [Type in keyof Publications]: { type: Type; data: Publications[Type] } }[keyof Publications];

/** What a RealtimeRoom tells, besides the publications by their type. */
export interface RealtimeEvents extends Publications {
  /** Every publication. */
  publication: Publication;
  /**
   * One hears the room now. `recovered` is false after a first coming and after an
   * absence that was too long: then read anew what matters.
   */
  subscribed: { recovered: boolean };
  /** One doesn't hear it for now. */
  subscribing: void;
  /** One may not (any more). */
  refused: { code: number; reason: string };
}

/** What happens in one room. */
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

  /** Sends hearts; those of a quarter of a second go together. */
  sendHearts(count = 1): void {
    this.#hearts += count;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const sent = this.#hearts;
      this.#hearts = 0;
      this.#publish({ type: 'heart', data: { count: sent } }).catch(() => undefined); // a heart is no more than that
    }, 250);
  }

  /** Shows a product to everybody; only the room's host may. */
  pin(productId: string): Promise<void> {
    return this.#publish({ type: 'prod-pin', data: { id: productId } });
  }

  /** Hears it no longer. */
  leave(): void {
    clearTimeout(this.#timer);
    this.subscription.unsubscribe();
  }

  async #publish(publication: Publication): Promise<void> {
    await this.subscription.publish(publication);
  }
}

/**
 * The realtime channel: what happens in rooms, as it happens. It comes back by
 * itself after a loss, and brings what was missed in up to 30 seconds.
 *
 * ```ts
 * const realtime = new Realtime({ token });
 * const room = realtime.room(sessionId);
 * room.on('chat.message', (message) => show(message.authorName, message.body));
 * room.sendHearts();
 * ```
 */
export class Realtime {
  readonly #client: Centrifuge;
  readonly #rooms = new Map<string, RealtimeRoom>();

  /**
   * @param options a participant token, a tenant JWT or an API key; the breakout room that a participant token of
   * the main room is to open; and where the API is if not here
   */
  constructor(options: { token: string; room?: string; url?: string }) {
    const url = options.url ?? `${location.origin.replace(/^http/, 'ws')}/v1/realtime/websocket`;
    this.#client = new Centrifuge(url, {
      token: options.token, data: options.room ? { room: options.room } : undefined, minReconnectDelay: 250, maxReconnectDelay: 5000,
    });
    this.#client.connect();
  }

  /** The room, to be heard from now on. */
  room(id: string): RealtimeRoom {
    const known = this.#rooms.get(id);
    if (known) return known;
    const subscription = this.#client.newSubscription(`room:${id}`, { minResubscribeDelay: 250, maxResubscribeDelay: 5000 });
    const room = new RealtimeRoom(subscription);
    this.#rooms.set(id, room);
    subscription.subscribe();

    return room;
  }

  /** Hears the room no longer. */
  leave(id: string): void {
    this.#rooms.get(id)?.leave();
    this.#rooms.delete(id);
    const subscription = this.#client.getSubscription(`room:${id}`);
    if (subscription) this.#client.removeSubscription(subscription);
  }

  /** Hears nothing any more. */
  close(): void {
    // First, so that nothing is said on a socket that is closing.
    this.#client.disconnect();
    for (const id of [...this.#rooms.keys()]) this.leave(id);
  }
}
