// A row, and the line of the file on which it begins.
export interface CsvRow { line: number; cells: string[] }

// Reads CSV (RFC 4180). The separator is the comma, semicolon or tab that the first line has most of. Empty rows are left out.
export function readCsv(file: string): CsvRow[] {
  const text = file.replace(/^\uFEFF/, '');
  const first = text.slice(0, text.search(/\r?\n|$/));
  const separator = [',', ';', '\t'].reduce((best, mark) => (first.split(mark).length > first.split(best).length ? mark : best));
  const rows: CsvRow[] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  let [line, begin] = [1, 1];
  const endRow = () => {
    rows.push({ line: begin, cells: [...row, cell] });
    [row, cell, begin] = [[], '', line];
  };
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at]!;
    if (mark === '\n') line += 1;
    if (quoted) {
      if (mark !== '"') cell += mark;
      else if (text[at + 1] === '"') { cell += '"'; at += 1; } else quoted = false;
    } else if (mark === '"' && cell === '') quoted = true;
    else if (mark === separator) { row.push(cell); cell = ''; } else if (mark === '\n') endRow();
    else cell += mark;
  }
  if (cell !== '' || row.length > 0) endRow();
  // The CSV export puts an apostrophe before what a spreadsheet would run.
  const clean = (value: string) => value.trim().replace(/(^|[;\t\r\n])'(?=["' ]*[=+\-@\t\r])/g, '$1');
  return rows.map((read) => ({ ...read, cells: read.cells.map(clean) })).filter(({ cells }) => cells.some(Boolean));
}

// The text of a file: UTF-8, or else what Excel writes on Windows.
export function decodeText(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
