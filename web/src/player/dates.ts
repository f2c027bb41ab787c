// Maps the player's time in seconds to the dates of EXT-X-PROGRAM-DATE-TIME in milliseconds, and back. Two playlists of
// the same broadcast have different times but the same dates.
import type { Fragment, LevelDetails } from 'hls.js';

/** Returns the date that is shown at a time; undefined if the playlist has no dates. Times after the last segment continue it. */
export function dateAt(details: LevelDetails, time: number): number | undefined {
  const fragment = last(details.fragments, (one) => one.start <= time) ?? details.fragments[0];
  const date = fragment?.programDateTime;

  return fragment && typeof date === 'number' ? date + (time - fragment.start) * 1000 : undefined;
}

/** Returns the time at which a date is shown. In a gap that is the beginning of the next segment; outside of the playlist its nearest end. */
export function timeAt(details: LevelDetails, date: number): number {
  const { fragments } = details;
  const first = fragments[0];
  if (!first) return 0;
  const fragment = last(fragments, (one) => (one.programDateTime ?? Infinity) <= date);
  if (!fragment) return first.start;

  return Math.min(fragment.start + (date - (fragment.programDateTime ?? date)) / 1000, fragment.end);
}

// last returns the last fragment of those at the beginning for which a condition is true.
function last(fragments: Fragment[], holds: (fragment: Fragment) => boolean): Fragment | undefined {
  let [low, high] = [0, fragments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const fragment = fragments[middle];
    if (fragment && holds(fragment)) low = middle + 1;
    else high = middle;
  }

  return fragments[low - 1];
}

/** Returns the date of the first segment of an HLS stream, or undefined. It reads no more of the media playlist than that. */
export async function firstDate(url: string): Promise<number | undefined> {
  const index = await fetch(url, { cache: 'no-store' });
  if (!index.ok) return undefined;
  const variant = (await index.text()).split('\n').find((line) => line && !line.startsWith('#'));
  if (!variant) return undefined;
  const response = await fetch(new URL(variant, index.url), { cache: 'no-store' });
  if (!response.ok || !response.body) return undefined;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    text += value ?? '';
    const found = /#EXT-X-PROGRAM-DATE-TIME:(.+)\n/.exec(text)?.[1];
    if (found) await reader.cancel();
    if (found || done) return found ? Date.parse(found) : undefined;
  }
}
