// The addresses that the page plays. Anyone with a playback URL can watch, so the page moves it from its own address to
// the state of the history entry, where a reload finds it.

import type { Brand } from '../gen/api.js';
import { readBrand } from '../brand/page.js';

/** The addresses that the page was asked to play. */
export interface Request {
  /** The playback URL of a live stream, its DVR playlist or a recording; empty for none. */
  src: string;
  /** The DVR playlist of the same live stream; empty for none. */
  dvr: string;
  /** The tenant's brand and the page's title, from the head that the server wrote for `src`. */
  brand?: Brand;
  title?: string;
}

// A developer's machine has two names. A stream of one plays on a page of the other.
const ownNames = ['localhost', '127.0.0.1'];

/** Returns the address to load, or an empty text if it isn't allowed: only addresses on this server and https addresses are. */
export function playable(text: string): string {
  try {
    const url = new URL(text, location.href);
    if (ownNames.includes(url.hostname) && ownNames.includes(location.hostname)) url.hostname = location.hostname;

    return url.origin === location.origin || url.protocol === 'https:' ? url.href : '';
  } catch {
    return '';
  }
}

/** Returns the addresses of the page's own address, or those of the history entry's state. */
export function requested(): Request {
  const query = new URLSearchParams(location.search);
  const [src, dvr, brand] = [query.get('src'), query.get('dvr') ?? '', readBrand()];
  const hash = fromHash();
  if (src) remember({ src, dvr, ...(brand && { brand, title: document.title }) });
  else if (hash) remember({ src: hash, dvr });
  const state = history.state as Partial<Request> | null;

  return { ...state, src: state?.src ?? '', dvr: state?.dvr ?? '' };
}

export function remember(request: Request): void {
  history.replaceState(request, '', location.pathname);
}

function fromHash(): string {
  const hash = location.hash.slice(1).replace(/^src=/, '');
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash; // a bare percent sign: use the text as it is
  }
}
