import type { VNode } from 'preact';

import { t } from './texts/index.js';

// The server writes the poster into the page, so that it is shown before the scripts have run. Read before the first drawing.
const first = document.querySelector<HTMLImageElement>('#page .poster')?.src;

/** The page until the show is known, with the poster if there is one. */
export function Loading(): VNode {
  const wait = <div class="loading" role="status"><span class="spinner" aria-hidden="true" /> {t.loading}</div>;
  if (!first) return wait;

  return <div class="stage"><img class="poster" src={first} alt="" referrerpolicy="no-referrer" />{wait}</div>;
}
