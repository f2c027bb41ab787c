// The pictures on the seek bar and the chapters of a recording. Its multivariant playlist names the files in
// EXT-X-SESSION-DATA.
import type { ManifestLoadedData } from 'hls.js';

import { playable } from './address.js';
import { readStoryboard } from './storyboard.js';

const mostBytes = 4 << 20; // of a file
const mostChapters = 5000;

/** A chapter, as media-chrome's seek bar reads it. Times are in seconds. */
export interface Chapter {
  startTime: number;
  endTime: number;
  text: string;
}

/** Returns the address of a file that a playlist names with this DATA-ID; empty if there is none. */
export function named({ sessionData, url }: ManifestLoadedData, id: string): string {
  const uri = sessionData?.[id]?.['URI'];
  if (!uri || !URL.canParse(uri, url)) return '';

  return playable(new URL(uri, url).href);
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) return '';
  const text = await response.text();

  return text.length > mostBytes ? '' : text;
}

/** Loads a storyboard as cues whose text is the address of a picture. */
export async function loadStoryboard(url: string): Promise<VTTCue[]> {
  return readStoryboard(await fetchText(url), url).map((cue) => new VTTCue(cue.start, cue.end, cue.url.href));
}

/** Loads chapters in Apple's JSON format (RFC 8216bis, com.apple.hls.chapters). The last one lasts until `end` in seconds. */
export async function loadChapters(url: string, end: () => number): Promise<Chapter[]> {
  const list: unknown = JSON.parse((await fetchText(url)) || '[]');
  if (!Array.isArray(list)) return [];
  const chapters = list.slice(0, mostChapters).flatMap((one: unknown): Chapter[] => {
    const { 'start-time': start, duration, titles } = (one ?? {}) as Record<string, unknown>;
    if (typeof start !== 'number' || start < 0) return [];
    const title = titleOf(titles);

    return title ? [{ startTime: start, endTime: typeof duration === 'number' ? start + duration : NaN, text: title }] : [];
  });
  chapters.sort((a, b) => a.startTime - b.startTime);
  chapters.forEach((chapter, i) => {
    if (Number.isNaN(chapter.endTime)) chapter.endTime = chapters[i + 1]?.startTime ?? end();
  });

  return chapters;
}

// titleOf returns the title in the viewer's language, or the first one.
function titleOf(titles: unknown): string {
  if (!Array.isArray(titles)) return '';
  const list = titles.filter((one): one is { language?: string; title: string } => typeof (one as { title?: unknown } | null)?.title === 'string');
  const language = navigator.language.split('-')[0];

  return (list.find((one) => one.language?.split('-')[0] === language) ?? list[0])?.title ?? '';
}

/** Replaces the pictures of the seek bar, which media-chrome reads from the text track "thumbnails". */
export function setStoryboard(video: HTMLVideoElement, cues: VTTCue[]): void {
  const track = [...video.textTracks].find(({ label }) => label === 'thumbnails') ?? video.addTextTrack('metadata', 'thumbnails');
  track.mode = 'hidden'; // with "disabled" there are no cues
  for (const cue of [...(track.cues ?? [])]) track.removeCue(cue);
  for (const cue of cues) track.addCue(cue);
}
