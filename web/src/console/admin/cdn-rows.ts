import type { CdnLogRow } from '../../gen/api.js';
import { asProblem } from '../lib/api.js';
import { readCsv } from '../lib/csv-read.js';

// Fields of a row, as the API names them. The first five are required.
export const fields = [
  'requestId', 'at', 'path', 'status', 'bytes', 'cache', 'country', 'durationMs',
] as const satisfies readonly (keyof CdnLogRow)[];
const required = fields.slice(0, 5);
const numbers: readonly string[] = ['status', 'bytes', 'durationMs'];

// A row, which the server checks, and the line of the file that it is from, or its place in a JSON document, from 1 on.
export interface LogRow { place: number; row: CdnLogRow }
export interface LogFile { rows: LogRow[]; byLine: boolean; source?: string }

// A fault of the whole file. key is a text of messages/admin-import.
export class FileFault extends Error {
  constructor(readonly key: 'noColumn' | 'noRows' | 'badJson' | 'noList', readonly values: Record<string, string | number> = {}) {
    super(key);
  }
}

// Reads CSV with the names of the fields in its first line, JSON lines, or the document of the API.
export function readLog(text: string): LogFile {
  const begin = text.trimStart()[0];
  const file = begin === '{' || begin === '[' ? readJson(text) : { rows: readTable(text), byLine: true };
  if (file.rows.length === 0) throw new FileFault('noRows');
  return file;
}

function readTable(text: string): LogRow[] {
  const [{ cells: head } = { cells: [] }, ...lines] = readCsv(text);
  const at = Object.fromEntries(fields.map((field) => [field, head.findIndex((title) => title.toLowerCase() === field.toLowerCase())]));
  const missing = required.find((field) => at[field]! < 0);
  if (missing) throw new FileFault('noColumn', { name: missing });
  return lines.map(({ line, cells }) => ({ place: line, row: rowOf((field) => fromCell(field, cells[at[field]!])) }));
}

// A number that can't be read stays a text, so that the server refuses it.
function fromCell(field: string, cell: string | undefined): unknown {
  if (!cell) return undefined;
  return numbers.includes(field) && /^-?\d+$/.test(cell) ? Number(cell) : cell;
}

function readJson(text: string): LogFile {
  const whole = parsed(text);
  if (whole === undefined || (isObject(whole) && 'requestId' in whole)) {
    const lines = text.split('\n').map((line, index) => ({ line, place: index + 1 })).filter(({ line }) => line.trim());
    return { byLine: true, rows: lines.map(({ line, place }) => {
      const value = parsed(line);
      if (value === undefined) throw new FileFault('badJson', { line: place });
      return { place, row: fromObject(value) };
    }) };
  }
  const rows: unknown = isObject(whole) ? whole.rows : whole;
  if (!Array.isArray(rows)) throw new FileFault('noList');
  return {
    byLine: false, rows: rows.map((value: unknown, index) => ({ place: index + 1, row: fromObject(value) })),
    ...(isObject(whole) && typeof whole.source === 'string' && { source: whole.source }),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

const fromObject = (value: unknown) => rowOf((field) => (isObject(value) ? value[field] : undefined));

function rowOf(value: (field: string) => unknown): CdnLogRow {
  return Object.fromEntries(fields.map((field) => [field, value(field)]).filter(([, of]) => of !== undefined)) as unknown as CdnLogRow;
}

// The limits of a request, with room for what is around the rows: 10,000 rows and 5 MiB.
const maxRows = 10_000;
const maxBytes = 5_000_000;

// The rows of the next request.
export function nextBatch(rows: LogRow[]): LogRow[] {
  const encoder = new TextEncoder();
  let size = 0;
  const fitting = rows.slice(0, maxRows).findIndex(({ row }) => {
    size += encoder.encode(JSON.stringify(row)).length + 1;
    return size > maxBytes;
  });
  return rows.slice(0, fitting < 0 ? maxRows : Math.max(1, fitting));
}

export interface Refusal { of: LogRow; message: string }

// The rows of a request that the server's answer names, with its messages.
export function refusals(error: unknown, batch: LogRow[]): Refusal[] {
  const messages = new Map<LogRow, string[]>();
  for (const { field, message } of asProblem(error).errors ?? []) {
    const [, index, name = ''] = /^rows\.(\d+)(?:\.(.*))?$/.exec(field) ?? [];
    const row = index === undefined ? undefined : batch[Number(index)];
    if (row) messages.set(row, [...messages.get(row) ?? [], name ? `${name}: ${message}` : message]);
  }
  return [...messages].map(([of, list]) => ({ of, message: list.join('. ') }));
}

export interface Preview { rows: number; bytes: number; failed: number; elsewhere: number; first: string; last: string }

// The figures of rows that the server has not checked yet. first and last are empty if no row has a time.
export function previewOf(rows: LogRow[]): Preview {
  const preview: Preview = { rows: rows.length, bytes: 0, failed: 0, elsewhere: 0, first: '', last: '' };
  let [first, last] = [Infinity, -Infinity];
  for (const { row: { bytes, status, path, at } } of rows) {
    if (Number.isFinite(bytes)) preview.bytes += bytes;
    if (status >= 400) preview.failed += 1;
    if (!/^\/(live|vod)\//.test(String(path))) preview.elsewhere += 1;
    const time = Date.parse(at);
    if (time < first) [first, preview.first] = [time, at];
    if (time > last) [last, preview.last] = [time, at];
  }
  return preview;
}
