// The messages of the SFU's WebSocket, as docs/signalling.md describes them.

/** What a participant is in a room. */
export type Role = 'host' | 'cohost' | 'guest' | 'viewer';

/** What a participant may publish. */
export interface Perms {
  audio: boolean;
  video: boolean;
  screen: boolean;
}

/** Somebody in the room. */
export interface Participant {
  userId: string;
  displayName: string;
  role: Role;
  perms: Perms;
  /** `waiting` until a host lets them in, `joined` in the room. */
  state: 'invited' | 'waiting' | 'joined' | 'left' | 'kicked';
  /** Whether the microphone must not be heard, by their own or a moderator's will. */
  muted: boolean;
  handRaised: boolean;
}

/** What a track shows. The last two are of a live stream that is shown in its room. */
export type Source = 'microphone' | 'camera' | 'screen' | 'screen-audio' | 'stream-video' | 'stream-audio';

/** What a client can publish. */
export type LocalSource = Extract<Source, 'microphone' | 'camera' | 'screen' | 'screen-audio'>;

/** A published track. */
export interface Track {
  id: string;
  userId: string;
  source: Source;
  kind: 'audio' | 'video';
  muted: boolean;
  /** Simulcast layers in pixels, the smallest first; empty for audio. */
  layers: { width: number; height: number }[];
}

/** How loud somebody speaks: 0 is silence, 1 as loud as can be. */
export interface Speaker {
  userId: string;
  level: number;
}

/** What the SFU knows of the session; a stream's room has none. */
export interface SessionState {
  id?: string;
  type?: 'conference' | 'webinar' | 'livestream' | 'call';
  name?: string;
  state?: 'waiting' | 'live' | 'ended' | 'cancelled';
  layout?: 'grid' | 'speaker' | 'sidebar' | 'spotlight';
  locked?: boolean;
  waitingRoom?: boolean;
  spotlightUserId?: string | null;
  recordingEnabled?: boolean;
  hostId?: string;
  parentSessionId?: string | null;
}

/** Why the server ends a connection. */
export type ByeCode =
  | 'kicked'
  | 'ended'
  | 'replaced'
  | 'session_full'
  | 'locked'
  | 'forbidden'
  | 'unauthenticated'
  | 'token_expired'
  | 'moved'
  | 'suspended'
  | 'shutdown'
  | 'slow'
  | 'bad_message'
  | 'rate_limited'
  | 'internal';

/** Which of a client's two peer connections. */
export type Direction = 'publish' | 'subscribe';

/** The first message of a connection: how everything stands. */
export interface Welcome {
  type: 'welcome';
  room: string;
  kind: 'session' | 'stream';
  self: Participant;
  /** With this a lost connection is resumed. */
  resume: string;
  /** Whether the peer connections from before go on. */
  resumed: boolean;
  iceServers?: RTCIceServer[];
  participants?: Participant[];
  tracks?: Track[];
  session?: SessionState;
  audience?: number;
}

/** The server's farewell. */
export interface Bye {
  type: 'bye';
  code: ByeCode;
  message: string;
  /** Whether coming again by oneself makes sense. */
  retry: boolean;
  /** With `moved`: where the room is now. */
  sfuUrl?: string;
}

/** A section of an SDP and the track that it carries. */
export interface MediaSection {
  mid: string;
  id: string;
}

/** A section whose track the server doesn't take. */
export interface RefusedSection {
  mid: string;
  code: string;
  message: string;
}

/**
 * Why a stream's room can't show the stream, and where it plays by HLS: `b_frames`, `video_codec`, `audio_codec`,
 * `audio_converter`, `waiting_for_key_frame`, and codes that are added later.
 */
export interface Fallback {
  code: string;
  message: string;
  /** An HLS playlist with pictures and sound; its address changes before it expires. */
  url: string;
}

/** What the server sends. Each message has a `seq` besides, which grows. */
export type ServerMessage =
  | Welcome
  | Bye
  | { type: 'participant'; participant: Participant }
  | { type: 'left'; userId: string; reason: string }
  | { type: 'audience'; count: number }
  | { type: 'track'; track: Track }
  | { type: 'untrack'; id: string }
  | { type: 'answer'; id: number; sdp: string; tracks?: MediaSection[]; refused?: RefusedSection[] }
  | { type: 'offer'; id: number; sdp: string; tracks?: MediaSection[] }
  | { type: 'candidate'; pc: Direction; candidate: RTCIceCandidateInit | null }
  | { type: 'layers'; id: string; active: boolean[] }
  | { type: 'speakers'; speakers: Speaker[] }
  | { type: 'data'; from: string; topic: string; payload: string }
  | { type: 'session'; session: SessionState }
  | { type: 'error'; re?: number | string; code: string; message: string }
  | { type: 'fallback'; fallback: Fallback | null }
  | { type: 'pong'; time: number };

/** How a video is shown, in the device's pixels; hidden, it needn't be sent. */
export interface View {
  id: string;
  width: number;
  height: number;
  hidden: boolean;
}

/** What the client sends. */
export type ClientMessage =
  | { type: 'offer'; id: number; sdp: string; tracks: { mid: string; source: LocalSource }[] }
  | { type: 'answer'; id: number; sdp: string }
  | { type: 'candidate'; pc: Direction; candidate: RTCIceCandidateInit }
  | { type: 'restart'; pc: 'subscribe' }
  | { type: 'mute'; id: string; muted: boolean }
  | { type: 'view'; tracks: View[] }
  | { type: 'data'; to?: string[]; topic: string; payload: string }
  | { type: 'leave' }
  | { type: 'ping'; time: number };
