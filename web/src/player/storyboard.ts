/** A picture of a storyboard. start and end are in seconds. */
export interface StoryboardCue { start: number; end: number; url: URL }

const mostCues = 5000;

// seconds reads a WebVTT timestamp, such as 00:01:02.500 or 01:02.500.
const seconds = (text: string): number => text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

/**
 * Reads a storyboard: a WebVTT file whose cues are addresses of pictures, with #xywh= for a part of one. Cues that can't be read are
 * left out. base is the file's own address.
 */
export function readStoryboard(text: string, base: string): StoryboardCue[] {
  return text.split(/\r?\n\r?\n/).flatMap((block): StoryboardCue[] => {
    const [, from = '', to = '', address = ''] = /^([\d:.]+) --> ([\d:.]+).*\r?\n(\S+)/m.exec(block) ?? [];
    const [start, end] = [seconds(from), seconds(to)];
    if (!address || !Number.isFinite(start) || !Number.isFinite(end) || !URL.canParse(address, base)) return [];

    return [{ start, end, url: new URL(address, base) }];
  }).slice(0, mostCues);
}
