// The page's address: /scenarios/shopping/?room=<stream>&token=<participant token> or ?vod=<recording>[&token=][&t=<seconds>].
// After payment the buyer returns to it with checkout=success or checkout=cancelled.
import { memoryOf } from '../shop/index.js';
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

/**
 * Reads the page's address. A token and a payment's result in the shop's `hello` take precedence. The token leaves the address bar: it is kept
 * in the history entry and, if allowed, in sessionStorage.
 */
export function readAddress(embedding: Embedding | undefined): Address {
  const query = new URLSearchParams(location.search);
  const kind = query.has('vod') ? 'vod' : 'room';
  const id = query.get(kind) ?? '';
  const memory = memoryOf(() => sessionStorage, `showfloor.${id}.`);
  // In a shop's frame the shop says who the customer is: a token from before may be of the one who has just logged out.
  const framed = query.has('embed');
  const given = (embedding ? embedding.hello.token : query.get('token')) || undefined;
  const token = framed ? given : given ?? (history.state as { token?: string } | null)?.token ?? memory.get<string>('token');
  const kept = framed ? undefined : token;
  memory.set('token', kept);
  const checkout = embedding?.hello.returned ?? query.get('checkout');
  query.delete('token');
  query.delete('checkout');
  history.replaceState({ token: kept }, '', `?${query}`);

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
