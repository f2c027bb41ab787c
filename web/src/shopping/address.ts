// The page's address: /scenarios/shopping/?room=<stream>&token=<participant token> or ?vod=<recording>[&token=][&t=<seconds>].
// After payment the buyer returns to it with checkout=success or checkout=cancelled.
import { type RenewToken, memoryOf } from '../shop/index.js';
import type { Embedding } from './embedding.js';

/** The content of the page's address. */
export interface Address {
  kind: 'room' | 'vod';
  /** The stream's or recording's id; empty if the address has none. */
  id: string;
  token: string | undefined;
  /** The second of a replay at which to start. */
  second: number;
  /** How the buyer returns from the payment page; undefined if he doesn't. */
  returned: 'success' | 'cancelled' | undefined;
  /** The shop's page around this one; undefined if there is none. */
  embedding: Embedding | undefined;
}

/** Reads the address, and what the shop around the page says instead of it. The address's token leaves the address bar: it is kept in the history entry and, if allowed, in sessionStorage. */
export function readAddress(embedding: Embedding | undefined): Address {
  const query = new URLSearchParams(location.search);
  const kind = query.has('vod') ? 'vod' : 'room';
  const id = query.get(kind) ?? '';
  const memory = memoryOf(() => sessionStorage, `showfloor.${id}.`);
  const given = embedding?.hello.token || query.get('token') || undefined;
  if (given) memory.set('token', given);
  const token = given ?? (history.state as { token?: string } | null)?.token ?? memory.get<string>('token');
  const checkout = embedding?.hello.returned ?? query.get('checkout');
  query.delete('token');
  query.delete('checkout');
  history.replaceState({ token }, '', `?${query}`);

  return {
    kind, id, token, embedding, second: Math.max(0, Number.parseFloat(query.get('t') ?? '') || 0),
    returned: checkout === 'success' || checkout === 'cancelled' ? checkout : undefined,
  };
}

/** Returns the address of a replay's page. In a shop's frame it stays connected with the shop. */
export function replayHref(id: string): string {
  const embed = new URLSearchParams(location.search).has('embed') ? '&embed=1' : '';

  return `?vod=${encodeURIComponent(id)}${embed}`;
}

// A developer's machine has two names. A stream of one plays on a page of the other.
const ownNames = ['localhost', '127.0.0.1'];

/** Returns a function that gets a new token from the shop around the page; undefined if there is none. A reload uses the new token. */
export function renewal({ id, embedding }: Address): RenewToken | undefined {
  if (!embedding) return undefined;

  return async (expiresAt) => {
    const token = await embedding.renewToken(expiresAt);
    if (token !== undefined) {
      memoryOf(() => sessionStorage, `showfloor.${id}.`).set('token', token);
      history.replaceState({ token }, '');
    }

    return token;
  };
}

/** Returns an address of the API with the page's host name if both are names of this machine. */
export function ownAddress(text: string): string {
  const url = new URL(text, location.href);
  if (ownNames.includes(url.hostname) && ownNames.includes(location.hostname)) url.hostname = location.hostname;

  return url.href;
}

/** Returns a picture's address if it is a web address; undefined otherwise. */
export function picture(text: string | null | undefined): string | undefined {
  if (!text || !URL.canParse(text, location.href)) return undefined;
  const url = new URL(text, location.href);

  return url.protocol === 'https:' || url.protocol === 'http:' ? ownAddress(url.href) : undefined;
}
