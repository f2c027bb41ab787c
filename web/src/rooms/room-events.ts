import type { ByeCode, Fallback, LocalSource, Participant, SessionState, Speaker, Track } from './protocol.js';
import type { VideoCodec } from './sdp.js';

/** The options of a Room. */
export interface RoomOptions {
  /** The `sfuUrl` that came with the token, such as `wss://live.example/sfu`. */
  url: string;
  /** A participant token. */
  token: string;
  /** The id of the session, breakout room or stream. */
  room: string;
  /** Whether the camera is sent in several sizes. True by default, except for the host of a stream. */
  simulcast?: boolean;
  /** The preferred codec of camera and screen, if the server accepts it: `vp8` by default, `h264` for the host of a stream. */
  codec?: VideoCodec;
  /**
   * Whether the microphone is sent with redundancy (RED), if the browser supports it; true by default. Single lost
   * packets are then not audible, at twice the bitrate of the sound.
   */
  red?: boolean;
  /**
   * Whether the participant only watches, on a page that can also play the stream by HLS; false by default. The server accepts a
   * limited number of such participants (`SFU_MAX_VIEWERS`; of one tenant at most half of it) and refuses further ones with
   * `session_full`. Moderators don't see them one by one.
   */
  watch?: boolean;
  /** Whether the room plays the sound of its tracks; true by default. With false the page plays mediaOf() itself. */
  playSound?: boolean;
}

/**
 * - `new`: not connected yet.
 * - `connecting`: the first connection is being made.
 * - `waiting`: in the waiting room, until a host admits the participant.
 * - `joined`: in the room.
 * - `reconnecting`: the connection is lost and is being made again.
 * - `closed`: ended; the state doesn't change any more.
 */
export type RoomState = 'new' | 'connecting' | 'waiting' | 'joined' | 'reconnecting' | 'closed';

/** The reason for which a room was closed: the server's code, or `left` after leave(). */
export interface Closed {
  code: ByeCode | 'left';
  message: string;
}

/** The events of a Room and their data, by name. */
export interface RoomEvents {
  /** The room's state has changed. */
  state: RoomState;
  /** Everything may have changed: read participants, tracks and session again. */
  welcome: void;
  /** A participant joined or changed; it may be the local one. */
  participant: Participant;
  /** A participant left. */
  left: { userId: string; reason: string };
  /** The number of viewers who aren't listed in `participants`. */
  audience: number;
  /** A track was published or has changed. */
  track: Track;
  /** A track has ended. */
  untrack: Track;
  /** The media of a track has arrived or was replaced. */
  media: Track;
  /** A local track was added, muted, unmuted or removed. */
  local: LocalSource;
  /** A moderator muted the local microphone. */
  muted: void;
  /** The current speakers, the loudest first. */
  speakers: Speaker[];
  /** A participant sent data. */
  data: { from: string; topic: string; payload: string };
  /** The session's layout, lock, spotlight or another property changed. */
  session: SessionState;
  /** The room can't show its stream: play it by HLS. undefined: the fallback is over. */
  fallback: Fallback | undefined;
  /** The server refused a request of this client; the room stays connected. */
  refused: { what: string; code: string; message: string };
  /** A local source stopped by itself: it was unplugged, is no longer shared, or is no longer permitted. */
  ended: LocalSource;
  /** The browser blocks sound until the user clicks: call startSound() in a click handler. */
  silenced: void;
  /** The room was closed. */
  closed: Closed;
}

/** The error with which connect() rejects. */
export class RoomError extends Error {
  constructor(
    readonly code: ByeCode | 'left',
    message: string,
  ) {
    super(message);
    this.name = 'RoomError';
  }
}
