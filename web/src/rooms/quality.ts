import type { Room } from './room.js';

/** Whether a participant's picture and sound arrive without many gaps. */
export type ConnectionQuality = 'good' | 'poor';

/** The totals of a participant's media since its tracks began. */
export interface MediaTotals {
  /** Packets that arrived. */
  received: number;
  /** Packets that didn't arrive; those that were sent again count too. */
  lost: number;
  /** Seconds during which a picture was frozen. */
  frozenSec: number;
  /** The time to the server and back in seconds; 0 if it isn't known. */
  roundTripSec: number;
}

const everyMs = 4000; // between two measurements
const leastPackets = 10; // in a measurement; fewer, such as those of a muted microphone, say nothing
const poorLoss = 0.05; // share of lost packets from which gaps are audible
const poorFreeze = 0.1; // share of the time with a frozen picture
const poorRoundTripSec = 0.4; // from which people interrupt each other

/**
 * Rates the time between two measurements.
 *
 * @param sec the seconds between them
 * @returns undefined if too few packets were sent in this time, or if a track was replaced
 */
export function qualityOf(before: MediaTotals, now: MediaTotals, sec: number): ConnectionQuality | undefined {
  const received = now.received - before.received;
  const lost = Math.max(0, now.lost - before.lost); // repeated packets can lower it
  if (received < 0 || received + lost < leastPackets) return undefined;
  const poor = lost / (received + lost) > poorLoss
    || (now.frozenSec - before.frozenSec) / sec > poorFreeze
    || now.roundTripSec > poorRoundTripSec;

  return poor ? 'poor' : 'good';
}

/**
 * Measures the quality of each participant's connection every four seconds. For others it is the
 * quality of what arrives here, for the local participant of what arrives at the server.
 */
export class QualityMeter {
  readonly #before = new Map<string, MediaTotals>();
  readonly #qualities = new Map<string, ConnectionQuality>();
  readonly #timer: ReturnType<typeof setInterval>;
  #measuredAt = 0;

  /** @param changed is called when the quality of one or more participants has changed */
  constructor(
    private readonly room: Room,
    private readonly changed: () => void,
  ) {
    this.#timer = setInterval(() => void this.#measure(), everyMs);
  }

  /** The quality of a participant's connection; undefined while nothing is measured. */
  of(userId: string): ConnectionQuality | undefined {
    return this.#qualities.get(userId);
  }

  /** Ends the measurements. */
  close(): void {
    clearInterval(this.#timer);
  }

  async #measure(): Promise<void> {
    const { publish, subscribe } = await this.room.stats();
    const totals = new Map<string, MediaTotals>();
    if (subscribe) this.#addReceived(subscribe, totals);
    if (publish && this.room.self) addSent(publish, of(totals, this.room.self.userId));
    const now = performance.now();
    const sec = (now - this.#measuredAt) / 1000;
    this.#measuredAt = now;
    let changes = false;
    for (const [userId, total] of totals) {
      const before = this.#before.get(userId);
      const quality = before && qualityOf(before, total, sec);
      if (!quality || quality === this.#qualities.get(userId)) continue;
      this.#qualities.set(userId, quality);
      changes = true;
    }
    this.#before.clear();
    for (const [userId, total] of totals) this.#before.set(userId, total);
    if (changes) this.changed();
  }

  /** addReceived adds the media that the subscribe connection receives, by the user who sends it. */
  #addReceived(report: RTCStatsReport, totals: Map<string, MediaTotals>): void {
    const { room } = this;
    const senders = new Map<string, string>();
    for (const { id, userId, source } of room.tracks.values()) {
      const media = room.mediaOf(id);
      if (media && !source.startsWith('stream-')) senders.set(media.id, userId);
    }
    report.forEach((stats: Inbound | Other) => {
      const userId = stats.type === 'inbound-rtp' ? senders.get(stats.trackIdentifier) : undefined;
      if (stats.type !== 'inbound-rtp' || !userId) return;
      const total = of(totals, userId);
      total.received += stats.packetsReceived ?? 0;
      total.lost += stats.packetsLost ?? 0;
      total.frozenSec += stats.totalFreezesDuration ?? 0;
    });
  }
}

// The statistics that the ratings use. Browsers leave out values that they don't measure.
interface Inbound {
  type: 'inbound-rtp';
  trackIdentifier: string;
  packetsReceived?: number;
  packetsLost?: number;
  totalFreezesDuration?: number;
}

interface RemoteInbound {
  type: 'remote-inbound-rtp';
  packetsLost?: number;
  roundTripTime?: number;
}

interface Outbound {
  type: 'outbound-rtp';
  packetsSent?: number;
}

interface Other {
  type: 'codec';
}

/** addSent adds the server's reports about the publish connection. */
function addSent(report: RTCStatsReport, total: MediaTotals): void {
  report.forEach((stats: RemoteInbound | Outbound | Other) => {
    if (stats.type === 'outbound-rtp') total.received += stats.packetsSent ?? 0;
    if (stats.type !== 'remote-inbound-rtp') return;
    total.received -= stats.packetsLost ?? 0;
    total.lost += stats.packetsLost ?? 0;
    total.roundTripSec = Math.max(total.roundTripSec, stats.roundTripTime ?? 0);
  });
}

function of(totals: Map<string, MediaTotals>, userId: string): MediaTotals {
  const known = totals.get(userId) ?? { received: 0, lost: 0, frozenSec: 0, roundTripSec: 0 };
  totals.set(userId, known);

  return known;
}
