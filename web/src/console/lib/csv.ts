interface CsvColumn<R> { title: string; value: (row: R) => string | number | boolean | null | undefined }

// Marks with which a formula may begin in a spreadsheet. One that splits lines at ; or at tabs, such as a German Excel, can also begin
// a cell inside of one of ours, and reads quotes differently there.
const formula = /(^|[;\t\r\n])(?=["' ]*[=+\-@\t\r])/g;

// Writes rows as CSV (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe in front. readCsv removes it.
export function toCsv<R>(columns: CsvColumn<R>[], rows: R[]): string {
  const cell = (value: string | number | boolean | null | undefined) => {
    const text = value == null ? '' : String(value);
    const safe = typeof value === 'string' ? text.replace(formula, "$1'") : text;
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ value }) => value(row)))];
  return lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('');
}

export function download(name: string, text: string, type = 'text/csv') {
  saveFile(name, new Blob(type === 'text/csv' ? ['\uFEFF', text] : [text], { type }));
}

export function saveFile(name: string, file: Blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
