/**
 * Client library for shows in a browser, without a framework: `LiveShow` follows a live show and lets the viewer buy, bid and
 * chat; `ReplayShow` does the same for a recording. docs/shopping.md has examples.
 */
export { ApiError } from '../rooms/api.js';
export { PlaybackAddress } from '../rooms/playback-address.js';
export { type Ticket, readTicket } from '../rooms/ticket.js';
export { ShopApi, type TokenSource } from './api.js';
export { Attempts, newKey } from './attempts.js';
export { Bids, type Part } from './bids.js';
export { Cart, type CartEvents, type CartView } from './cart.js';
export { Clock, type Sample } from './clock.js';
export { HostApi } from './host.js';
export { type Memory, memoryOf } from './memory.js';
export { Orders } from './orders.js';
export type { RenewToken } from './renewal.js';
export { ReplayShow, type ReplayOptions } from './replay.js';
export { LiveShow, type ShowEvents, type ShowOptions } from './show.js';
export { apply, type Applied, type ChatLine, type Connection, type LiveState, withMessages } from './state.js';
export { type Call, asApiError, call } from './request.js';
export { watchSleep } from './wake.js';
