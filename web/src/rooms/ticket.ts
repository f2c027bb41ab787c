/** What a participant token says of itself. Its signature isn't checked here. */
export interface Ticket {
  /** The session's or stream's id. */
  room: string;
  userId: string;
  expiresAt: Date;
}

/** Reads a participant token; undefined when it is none. */
export function readTicket(token: string): Ticket | undefined {
  try {
    const payload = (token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(payload), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as { room?: string; sub?: string; exp?: number };
    if (!claims.room || !claims.sub) return undefined;

    return { room: claims.room, userId: claims.sub, expiresAt: new Date((claims.exp ?? 0) * 1000) };
  } catch {
    return undefined;
  }
}
