// Where the tiles of a room lie: arithmetic alone, no page.

/** How the room is shown. */
export type Layout = 'grid' | 'speaker' | 'sidebar' | 'spotlight';

/** A rectangle in CSS pixels, from the stage's upper left corner. */
export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where everything lies; a tile without a rectangle isn't shown. */
export interface Arrangement {
  rects: Map<string, Rect>;
  /** How high it is all together; more than the stage when it scrolls. */
  height: number;
  /** How many tiles there was no room for. */
  more: number;
}

const gap = 8;
const aspect = 16 / 9;
const leastWidth = 150; // of a grid's tile; smaller ones say nothing, the grid scrolls instead
const wide = 700; // from here on there is room for a sidebar

/**
 * Arranges tiles on a stage.
 *
 * @param keys the tiles, in their order
 * @param main the one that is large in all layouts but the grid
 * @param self one's own, which is a small picture in the corner in the spotlight and in a talk of two
 */
export function arrange(layout: Layout, width: number, height: number, keys: string[], main: string | undefined, self?: string): Arrangement {
  const others = keys.filter((key) => key !== self);
  if (keys.length === 0 || width <= 0 || height <= 0) return { rects: new Map(), height, more: 0 };
  if (layout === 'spotlight') return spotlight(width, height, main ?? others[0] ?? keys[0], self);
  // In a talk of two one sees the other.
  if (layout === 'speaker' && keys.length === 2 && others.length === 1) return spotlight(width, height, others[0], self);
  if (layout === 'grid' || !main || keys.length === 1) return grid(width, height, keys);
  const rest = keys.filter((key) => key !== main);

  return layout === 'sidebar' && width >= wide ? sidebar(width, height, main, rest) : strip(width, height, main, rest);
}

/** grid makes all tiles alike and as large as fits. */
function grid(width: number, height: number, keys: string[]): Arrangement {
  const { columns, size } = gridOf(width, height, keys.length);
  const rows = Math.ceil(keys.length / columns);
  const used = rows * size.height + (rows - 1) * gap;
  const top = Math.max(0, (height - used) / 2);
  const rects = new Map<string, Rect>();
  keys.forEach((key, i) => {
    const row = Math.floor(i / columns);
    const inRow = row === rows - 1 ? keys.length - row * columns : columns;
    const left = (width - inRow * size.width - (inRow - 1) * gap) / 2;
    rects.set(key, { x: left + (i % columns) * (size.width + gap), y: top + row * (size.height + gap), ...size });
  });

  return { rects, height: Math.max(height, used), more: 0 };
}

/** gridOf finds the number of columns that makes the tiles largest; when even those are too small, the grid scrolls. */
function gridOf(width: number, height: number, count: number): { columns: number; size: { width: number; height: number } } {
  let best = { columns: 1, size: { width: 0, height: 0 } };
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const size = tileIn((width - gap * (columns - 1)) / columns, (height - gap * (rows - 1)) / rows, width < wide);
    if (size.width * size.height > best.size.width * best.size.height) best = { columns, size };
  }
  if (best.size.width >= Math.min(leastWidth, (width - gap) / 2)) return best;
  const columns = Math.max(2, Math.floor((width + gap) / (leastWidth + gap)));
  const tile = (width - gap * (columns - 1)) / columns;

  return { columns, size: { width: tile, height: tile / aspect } };
}

/** tileIn is the largest tile in a cell: 16 to 9, higher where the cell is, on a phone up to a square. */
function tileIn(width: number, height: number, narrow: boolean): { width: number; height: number } {
  if (height < width / aspect) return { width: height * aspect, height };

  return { width, height: Math.min(height, narrow ? width : width / 1.5) };
}

/** strip puts the others below the large one. */
function strip(width: number, height: number, main: string, rest: string[]): Arrangement {
  const small = { width: 0, height: Math.round(Math.min(140, Math.max(72, height * 0.18))) };
  small.width = Math.round(small.height * aspect);
  const room = Math.max(1, Math.floor((width + gap) / (small.width + gap)));
  const shown = rest.slice(0, room);
  const rects = new Map<string, Rect>([[main, { x: 0, y: 0, width, height: height - small.height - gap }]]);
  const left = (width - shown.length * small.width - (shown.length - 1) * gap) / 2;
  shown.forEach((key, i) => rects.set(key, { x: left + i * (small.width + gap), y: height - small.height, ...small }));

  return { rects, height, more: rest.length - shown.length };
}

/** sidebar puts the others beside the large one. */
function sidebar(width: number, height: number, main: string, rest: string[]): Arrangement {
  const small = { width: Math.round(Math.min(260, width * 0.22)), height: 0 };
  small.height = Math.round(small.width / aspect);
  const room = Math.max(1, Math.floor((height + gap) / (small.height + gap)));
  const shown = rest.slice(0, room);
  const rects = new Map<string, Rect>([[main, { x: 0, y: 0, width: width - small.width - gap, height }]]);
  const top = (height - shown.length * small.height - (shown.length - 1) * gap) / 2;
  shown.forEach((key, i) => rects.set(key, { x: width - small.width, y: top + i * (small.height + gap), ...small }));

  return { rects, height, more: rest.length - shown.length };
}

/** spotlight shows one alone, and oneself in the corner. */
function spotlight(width: number, height: number, main: string | undefined, self: string | undefined): Arrangement {
  const rects = new Map<string, Rect>();
  if (main) rects.set(main, { x: 0, y: 0, width, height });
  if (self && self !== main) {
    const small = Math.round(Math.min(240, Math.max(96, width * 0.2)));
    const tall = Math.round(small / aspect);
    rects.set(self, { x: width - small - 12, y: height - tall - 12, width: small, height: tall });
  }

  return { rects, height, more: 0 };
}
