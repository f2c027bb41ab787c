// Computes the positions of a room's tiles, without access to the page.

/** The layouts of a room. */
export type Layout = 'grid' | 'speaker' | 'sidebar' | 'spotlight';

/** A rectangle in CSS pixels, from the stage's upper left corner. */
export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The tiles' rectangles by key; a tile without a rectangle isn't shown. */
export interface Arrangement {
  rects: Map<string, Rect>;
  /** The total height in CSS pixels; greater than the stage's height if the grid scrolls. */
  height: number;
  /** The number of tiles that don't fit. */
  more: number;
}

const gap = 8;
const aspect = 16 / 9;
const leastWidth = 150; // of a grid's tile in CSS pixels; smaller tiles show too little, so the grid scrolls instead
const wide = 700; // stage width in CSS pixels from which a sidebar fits

/**
 * Arranges tiles on a stage.
 *
 * @param keys the tiles, in their order
 * @param main the tile that is large in all layouts except the grid
 * @param self the local participant's tile: small and in the corner in the spotlight, and among two in the speaker layout
 */
export function arrange(layout: Layout, width: number, height: number, keys: string[], main: string | undefined, self?: string): Arrangement {
  const others = keys.filter((key) => key !== self);
  if (keys.length === 0 || width <= 0 || height <= 0) return { rects: new Map(), height, more: 0 };
  if (layout === 'spotlight') return spotlight(width, height, main ?? others[0] ?? keys[0], self);
  // With two participants, each sees the other one large.
  if (layout === 'speaker' && keys.length === 2 && others.length === 1) return spotlight(width, height, others[0], self);
  if (layout === 'grid' || !main || keys.length === 1) return grid(width, height, keys);
  const rest = keys.filter((key) => key !== main);

  return layout === 'sidebar' && width >= wide ? sidebar(width, height, main, rest) : strip(width, height, main, rest);
}

/** grid gives all tiles the same size, the largest that fits. */
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

/** gridOf returns the number of columns with the largest tiles, and their size. If even these are too small, the grid scrolls. */
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

/** tileIn returns the size of the largest tile in a cell: 16:9, or higher in a high cell: up to 3:2, on a narrow stage a square. */
function tileIn(width: number, height: number, narrow: boolean): { width: number; height: number } {
  if (height < width / aspect) return { width: height * aspect, height };

  return { width, height: Math.min(height, narrow ? width : width / 1.5) };
}

/** strip puts the other tiles below the large one. */
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

/** sidebar puts the other tiles beside the large one. */
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

/** spotlight fills the stage with one tile, and puts the local participant's tile in the corner. */
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
