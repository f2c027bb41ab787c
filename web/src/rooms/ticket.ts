import type { Role } from './protocol.js';

/** The content of a participant token. The signature isn't checked here. */
export interface Ticket {
  /** The session's or stream's id. */
  room: string;
  userId: string;
  /** Display name and role at the time when the token was issued. The room reports the current ones. */
  displayName: string;
  role: Role | undefined;
  expiresAt: Date;
}

/** Reads a participant token; returns undefined for any other text. */
export function readTicket(token: string): Ticket | undefined {
  try {
    const payload = (token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(payload), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as { room?: string; sub?: string; name?: string; role?: Role; exp?: number };
    if (!claims.room || !claims.sub) return undefined;

    return {
      room: claims.room, userId: claims.sub, displayName: claims.name ?? claims.sub, role: claims.role, expiresAt: new Date((claims.exp ?? 0) * 1000),
    };
  } catch {
    return undefined;
  }
}
