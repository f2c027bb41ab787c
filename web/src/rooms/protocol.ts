// The messages of the SFU's WebSocket, as docs/signalling.md describes them.

/** The role of a participant in a room. */
export type Role = 'host' | 'cohost' | 'guest' | 'viewer';

/** A participant's permissions to publish. */
export interface Perms {
  audio: boolean;
  video: boolean;
  screen: boolean;
}

/** The permission that each of one's own sources needs. */
export const permOf: Record<LocalSource, keyof Perms> = {
  microphone: 'audio', camera: 'video', screen: 'screen', 'screen-audio': 'screen',
};

/** A participant, as the server announces it. */
export interface Participant {
  userId: string;
  displayName: string;
  role: Role;
  perms: Perms;
  /** `waiting`: in the waiting room until a host admits the participant. `joined`: in the room. */
  state: 'invited' | 'waiting' | 'joined' | 'left' | 'kicked';
  /** Whether the microphone is muted, by the participant or by a moderator. */
  muted: boolean;
  handRaised: boolean;
}

/** The source of a track's media. The last two belong to a live stream that is shown in its room. */
export type Source = 'microphone' | 'camera' | 'screen' | 'screen-audio' | 'stream-video' | 'stream-audio';

/** The sources that a client can publish. */
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

/** A participant who speaks, with the volume from 0 (silence) to 1 (the maximum). */
export interface Speaker {
  userId: string;
  level: number;
}

/** The session's properties as the SFU sends them; a stream's room has no session. */
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
  /** A transcript is kept, and a summary is written after the end. */
  transcriptionEnabled?: boolean;
  /** The room is being recorded at the moment. */
  recording?: boolean;
  /** The recording that is being made; the room writes to it while participants are in it. */
  recordingId?: string | null;
  /** Whether the session is broadcast into a stream now. */
  onAir?: boolean;
  hostId?: string;
  parentSessionId?: string | null;
}

/** The reason for which the server ends a connection. */
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

/** One of a client's two peer connections: `publish` sends its tracks, `subscribe` receives those of others. */
export type Direction = 'publish' | 'subscribe';

/** The current state of the room: the first message of a connection, except for the missed messages of a resumed one. */
export interface Welcome {
  type: 'welcome';
  room: string;
  kind: 'session' | 'stream';
  self: Participant;
  /** The secret with which a lost connection is resumed. */
  resume: string;
  /** Whether the connection was resumed, so that the earlier peer connections continue. */
  resumed: boolean;
  iceServers?: RTCIceServer[];
  participants?: Participant[];
  tracks?: Track[];
  session?: SessionState;
  audience?: number;
}

/** The server's last message before it closes the connection. */
export interface Bye {
  type: 'bye';
  code: ByeCode;
  message: string;
  /** Whether the client may reconnect by itself. */
  retry: boolean;
  /** With `moved`: the URL of the SFU that has the room now. */
  sfuUrl?: string;
}

/** A media section of an SDP and the id of the track that it carries. */
export interface MediaSection {
  mid: string;
  id: string;
}

/** A media section whose track the server refuses. */
export interface RefusedSection {
  mid: string;
  code: string;
  message: string;
}

/**
 * Sent when a stream's room can't show its stream, with an HLS playlist instead. `code` is the reason: `b_frames`, `video_codec`,
 * `audio_codec`, `audio_converter`, `waiting_for_key_frame`; more codes may be added.
 */
export interface Fallback {
  code: string;
  message: string;
  /** URL of an HLS playlist with pictures and sound. The server sends a new URL before this one expires. */
  url: string;
}

/** A message from the server. Each one also has `seq`, a number that counts up from 1. */
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

/** The size at which a video is shown, in pixels of the screen. The server doesn't send a hidden video. */
export interface View {
  id: string;
  width: number;
  height: number;
  hidden: boolean;
}

/** A message from the client. */
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
