// Whether and when a live show is played by WebRTC. LL-HLS is played in all other cases.
import type { Show } from '../gen/api.js';
import type { Participant, Track } from '../rooms/protocol.js';

/**
 * Why WebRTC isn't played any more.
 *
 * - `failed`: the room can't be reached, refuses, or no picture arrives.
 * - `full`: the server sends WebRTC to no more viewers.
 * - `unsuited`: the room can't show this broadcast, for example because of B-frames.
 * - `over`: the broadcast has stopped or paused; WebRTC itself worked.
 * - `hidden`: the page is in the background or the network has become slow; WebRTC itself worked.
 * - `final`: another attempt would be refused: the user watches in another tab, was removed, or the token has expired.
 */
export type Loss = 'failed' | 'full' | 'unsuited' | 'over' | 'hidden' | 'final';

const minute = 60_000;
const failurePauses = [minute / 2, minute, 2 * minute, 5 * minute];
const fullMs = 5 * minute;
const briefMs = 5000;
const firstMs = 1000;
const leastSpreadMs = 10_000; // at the start of a show no viewer is counted yet, although thousands may have waited for it
const mostSpreadMs = 30_000;
const perViewerMs = 20;

/** The browser's data about its network, where it has any (Network Information API). */
export interface Network {
  saveData?: boolean;
  effectiveType?: string;
}

/** The conditions of the choice. */
export interface Conditions {
  show: Pick<Show, 'status' | 'realtimeVideo'>;
  /** The role in the token. */
  role: string | undefined;
  /** Whether the browser has WebRTC. */
  capable: boolean;
  visible: boolean;
  online: boolean;
  network: Network | undefined;
}

/** Whether the network allows WebRTC. It has a single quality here, while HLS waits for late packets. */
export function isFast(network: Network | undefined): boolean {
  return !network?.saveData && !['slow-2g', '2g', '3g'].includes(network?.effectiveType ?? '');
}

/**
 * Whether to try WebRTC now. Only viewers do: a room has one connection of each user, so a host's page would end the host's own
 * broadcast from the studio.
 */
export function mayTry({ show, role, capable, visible, online, network }: Conditions): boolean {
  // A server of the former version sends no realtimeVideo.
  return show.status === 'LIVE' && show.realtimeVideo === true && role === 'viewer' && capable && visible && online && isFast(network);
}

/** Milliseconds until the first attempt. Viewers who came with the same link don't connect in the same second. */
export function firstPause(viewers: number, random = Math.random()): number {
  return firstMs + random * Math.min(mostSpreadMs, leastSpreadMs + viewers * perViewerMs);
}

/**
 * Milliseconds until the next attempt; undefined for no further one.
 *
 * @param failures the number of failures without a longer success, including this one
 */
export function nextPause(why: Loss, failures: number, random = Math.random()): number | undefined {
  const pause = {
    failed: failurePauses[Math.min(failures, failurePauses.length) - 1] ?? minute / 2, full: fullMs, unsuited: undefined, over: briefMs,
    hidden: briefMs, final: undefined,
  }[why];

  return pause === undefined ? undefined : pause * (1 + random / 2);
}

/** Returns the kind of loss for the code of a room's bye. */
export function lossOf(code: string): Loss {
  if (code === 'session_full') return 'full';

  return code === 'shutdown' || code === 'bad_message' ? 'failed' : 'final';
}

/** The tracks of a broadcast; undefined while the room shows none. */
export interface Broadcast {
  video: Track;
  audio: Track | undefined;
}

/**
 * Selects the tracks that are also in the HLS playlist: those of the encoder, or else the screen or camera and the microphone of
 * the host. If several hosts publish, the room doesn't say who is on air. Cohosts and guests aren't part of a broadcast.
 */
export function broadcastOf(tracks: Iterable<Track>, participants: ReadonlyMap<string, Pick<Participant, 'role'>>): Broadcast | undefined {
  const all = [...tracks];
  const withSource = (list: Track[], ...sources: string[]): Track | undefined =>
    sources.map((source) => list.find((track) => track.source === source)).find((track) => track);
  const stream = withSource(all, 'stream-video');
  if (stream) return { video: stream, audio: withSource(all, 'stream-audio') };
  const ofHosts = all.filter((track) => participants.get(track.userId)?.role === 'host');
  const video = withSource(ofHosts, 'screen', 'camera');
  if (!video || ofHosts.some((track) => track.userId !== video.userId)) return undefined;

  return { video, audio: withSource(ofHosts, 'microphone') };
}
