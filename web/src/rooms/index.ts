/**
 * Client library for rooms in a browser, without a framework: `Room` sends and receives
 * pictures and sound, `Realtime` receives publications such as chat messages, and `Api`
 * calls the operations that a participant token allows. docs/rooms.md has examples.
 */
export { Api, ApiError } from './api.js';
export { Backoff } from './backoff.js';
export { type Devices, canShareScreen, capture, captureScreen, listDevices, measureLevel } from './devices.js';
export { Emitter } from './emitter.js';
export { mutesToRepeat } from './mutes.js';
export { PlaybackAddress } from './playback-address.js';
export type * from './protocol.js';
export type { LocalTrack } from './publisher.js';
export { type ConnectionQuality, type MediaTotals, QualityMeter, qualityOf } from './quality.js';
export { type Publication, type Publications, Realtime, type RealtimeEvents, RealtimeRoom } from './realtime.js';
export { Room } from './room.js';
export { type Closed, RoomError, type RoomEvents, type RoomOptions, type RoomState } from './room-events.js';
export { type VideoCodec, cameraLayers, preferred, withQuietOpus } from './sdp.js';
export { type Ticket, readTicket } from './ticket.js';
export type { ChatMessage, Session, Participant as SessionParticipant } from '../gen/api.js';
