import type { ByeCode, Fallback, LocalSource, Participant, SessionState, Speaker, Track } from './protocol.js';
import type { VideoCodec } from './sdp.js';

/** How a Room is opened. */
export interface RoomOptions {
  /** The `sfuUrl` that came with the token, such as `wss://live.example/sfu`. */
  url: string;
  /** A participant token. */
  token: string;
  /** The id of the session, breakout room or stream. */
  room: string;
  /** Whether the camera is sent in several sizes; true by default, but for the host of a stream. */
  simulcast?: boolean;
  /** The codec of camera and screen where the server takes it: `vp8` by default, for the host of a stream `h264`. */
  codec?: VideoCodec;
  /**
   * Whether the microphone is sent with redundancy (RED), where the browser can: single losses aren't heard, for twice
   * the sound's rate. True by default.
   */
  red?: boolean;
}

/**
 * - `new`: not connected yet.
 * - `connecting`: on the way in.
 * - `waiting`: in the waiting room, until a host admits one.
 * - `joined`: in the room.
 * - `reconnecting`: the connection is lost and is being made again.
 * - `closed`: over.
 */
export type RoomState = 'new' | 'connecting' | 'waiting' | 'joined' | 'reconnecting' | 'closed';

/** Why a room is closed: the server's reason, or `left` after leave(). */
export interface Closed {
  code: ByeCode | 'left';
  message: string;
}

/** What a Room tells, by the event's name. */
export interface RoomEvents {
  /** The room's state is another. */
  state: RoomState;
  /** Everything may have changed: read participants, tracks and session anew. */
  welcome: void;
  /** Somebody came in or changed; it may be oneself. */
  participant: Participant;
  /** Somebody went. */
  left: { userId: string; reason: string };
  /** How many viewers there are besides those who are listed. */
  audience: number;
  /** A track is there or changed. */
  track: Track;
  /** A track is gone. */
  untrack: Track;
  /** A track has its picture or sound, or another one. */
  media: Track;
  /** A track of one's own was added, muted, unmuted or taken away. */
  local: LocalSource;
  /** A moderator muted one's microphone. */
  muted: void;
  /** Who speaks, the loudest first. */
  speakers: Speaker[];
  /** Somebody sent data. */
  data: { from: string; topic: string; payload: string };
  /** The session's layout, lock, spotlight or another property changed. */
  session: SessionState;
  /** A stream can't be shown in its room and is to be played by HLS, or not any more: undefined. */
  fallback: Fallback | undefined;
  /** The server refused something; the room goes on. */
  refused: { what: string; code: string; message: string };
  /** A camera, microphone or screen stopped by itself: unplugged, or shared no longer. */
  ended: LocalSource;
  /** The browser plays no sound before a click: call startSound() in one. */
  silenced: void;
  /** It is over. */
  closed: Closed;
}

/** What connect() rejects with. */
export class RoomError extends Error {
  constructor(
    readonly code: ByeCode | 'left',
    message: string,
  ) {
    super(message);
    this.name = 'RoomError';
  }
}
