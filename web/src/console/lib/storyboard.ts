// A picture of a recording: a part of a sheet, from a time on. Times are in seconds, parts in pixels.
export interface Scene { at: number; sheet: string; x: number; y: number; width: number; height: number }

const most = 5000;
const cue = /^([\d:.]+) --> [\d:.]+.*\r?\n(\S+?)#xywh=(\d+),(\d+),(\d+),(\d+)/m;

const seconds = (text: string) => text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

// Reads a storyboard: a WebVTT file whose cues are addresses of sheets with a part as #xywh=. base is the file's own address.
export function readStoryboard(text: string, base: string): Scene[] {
  return text.split(/\r?\n\r?\n/).slice(0, most).flatMap((block) => {
    const [, start = '', address = '', x, y, width, height] = cue.exec(block) ?? [];
    const at = seconds(start);
    if (!address || !Number.isFinite(at) || !URL.canParse(address, base)) return [];
    const url = new URL(address, base);
    if (!/^https?:$/.test(url.protocol)) return [];
    return [{ at, sheet: url.href, x: Number(x), y: Number(y), width: Number(width), height: Number(height) }];
  });
}
