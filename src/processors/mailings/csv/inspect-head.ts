import { CsvError, undecodableAt } from './csv-error.ts';
import { CsvTextDecoder } from './csv-text-decoder.ts';
import { type RawRow, RowScanner } from './row-scanner.ts';
import { splitCells } from './split-cells.ts';

/** How much of an upload is looked at before it is answered: more than any header needs, and quickly read. */
export const headBytes = 65_536;

/** How to read a file. */
export interface TableFormat {
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
  delimiter: ',' | ';' | '\t';
  /** Trimmed. A column without a name is no field. */
  columns: string[];
}

/** The same of a mailing's file; stored with it, so it is plain JSON. */
export interface CsvFormat extends TableFormat {
  emailColumn: number;
}

const delimiters = [',', ';', '\t'] as const;

/** Some of what was found helps to see what is missing; all of it may be 64 KiB. */
const maxListLength = 300;

/** The file as it would be with one delimiter. */
interface Reading {
  delimiter: CsvFormat['delimiter'];
  header: RawRow;
  columns: string[];
  /** A row after the header, or a fault after it. */
  hasRow: boolean;
  fault: CsvError | undefined;
}

/** Finds out how to read a file of addresses from its first bytes, or throws CsvError. `isWhole`: there are no more. */
export function inspectHead(head: Uint8Array, isWhole: boolean): CsvFormat {
  const format = inspectTable(head, isWhole, 'email');
  return { ...format, emailColumn: indexOfColumn(format.columns, 'email') };
}

/** The same for any file, with a column that it needs or without. */
export function inspectTable(head: Uint8Array, isWhole: boolean, neededColumn?: string): TableFormat {
  const encoding = detectEncoding(head);
  const text = decodeHead(head, encoding, isWhole);
  const { delimiter, header, columns, hasRow, fault } = chooseReading(text, isWhole, neededColumn);
  refuseSameNames(columns, header.line);
  if (fault !== undefined) throw fault;
  if (isWhole && !hasRow) throw new CsvError('CSV_EMPTY', 'The file has a header and no row.');
  return { encoding, delimiter, columns };
}

function indexOfColumn(columns: readonly string[], name: string): number {
  return columns.findIndex((column) => column.toLowerCase() === name);
}

function detectEncoding(head: Uint8Array): CsvFormat['encoding'] {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (looksLikeUtf16(head)) {
    const advice = 'The file looks like UTF-16 without a byte order mark; save it as UTF-8.';
    throw new CsvError('CSV_INVALID', advice);
  }
  return 'utf-8';
}

/** In UTF-16, every other byte of Latin letters and delimiters is zero; a third leaves room for other letters. */
function looksLikeUtf16(head: Uint8Array): boolean {
  const start = head.subarray(0, 256);
  const zeros = [0, 0];
  for (const [index, byte] of start.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  return Math.min(even, odd) === 0 && Math.max(even, odd) * 6 > start.length;
}

function decodeHead(head: Uint8Array, encoding: CsvFormat['encoding'], isWhole: boolean): string {
  const decoder = new CsvTextDecoder(encoding);
  const { text, isBroken } = decoder.decode(head);
  if (!isBroken && !(isWhole && decoder.end().isBroken)) return text;
  // Text in another encoding has no zeros; pictures, archives and spreadsheets begin with some.
  if (encoding === 'utf-8' && head.subarray(0, 512).includes(0)) throw notTextAt(undefined);
  const scanner = new RowScanner(',');
  scanner.scan(text);
  throw undecodableAt(scanner.line, encoding);
}

/** The delimiter under which there is the column that is needed; of several, the one that makes most columns. */
function chooseReading(text: string, isWhole: boolean, neededColumn: string | undefined): Reading {
  const firstLine = /\S[^\r\n]*/.exec(text)?.[0] ?? '';
  let best: Reading | undefined;
  let refusal: { error: CsvError; cells: number } | undefined;
  for (const delimiter of delimiters) {
    const reading = readWith(delimiter, text, isWhole, neededColumn);
    const cells = firstLine.split(delimiter).length;
    if (reading instanceof CsvError) {
      if (refusal === undefined || cells > refusal.cells) refusal = { error: reading, cells };
    } else if (best === undefined || reading.columns.length > best.columns.length) best = reading;
  }
  if (best !== undefined) return best;
  throw refusal?.error ?? new Error('no delimiter was tried');
}

function readWith(
  delimiter: CsvFormat['delimiter'],
  text: string,
  isWhole: boolean,
  neededColumn: string | undefined,
): Reading | CsvError {
  const scanner = new RowScanner(delimiter);
  const rows = scanner.scan(text);
  if (isWhole) rows.push(...scanner.end());
  const [header] = rows;
  if (header === undefined) return scanner.fault ?? explainNoHeader(isWhole);
  if (hasControlCharacters(header.text)) return notTextAt(header.line);
  const [columns] = splitCells([header], delimiter).map((cells) => cells?.map((cell) => cell.trim()));
  if (columns === undefined) {
    return new CsvError('CSV_INVALID', 'the header has a quote in the wrong place.', header.line);
  }
  if (neededColumn !== undefined && indexOfColumn(columns, neededColumn) === -1) {
    const list = columns.filter((name) => name !== '').join(', ');
    const shown = list.length > maxListLength ? `${list.slice(0, maxListLength).toWellFormed()}…` : list;
    const sentence = `the header has no column "${neededColumn}"; its columns are: ${shown}.`;
    return new CsvError('CSV_INVALID', sentence, header.line);
  }
  return { delimiter, header, columns, hasRow: rows.length > 1, fault: scanner.fault };
}

function explainNoHeader(isWhole: boolean): CsvError {
  if (isWhole) return new CsvError('CSV_EMPTY', 'The file is empty.');
  const sentence = 'The header does not end within the first 64 KiB; a quote in it may not have been closed.';
  return new CsvError('CSV_INVALID', sentence);
}

function notTextAt(line: number | undefined): CsvError {
  const sentence = 'The file is not text; if it is a spreadsheet, export it as CSV.';
  return new CsvError(
    'CSV_INVALID',
    line === undefined ? sentence : `the header has control characters. ${sentence}`,
    line,
  );
}

function hasControlCharacters(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text);
}

function refuseSameNames(columns: readonly string[], line: number): void {
  const positions = new Map<string, number>();
  for (const [index, column] of columns.entries()) {
    const name = column.toLowerCase();
    const earlier = positions.get(name);
    if (name !== '' && earlier !== undefined) {
      const shown = column.slice(0, maxListLength).toWellFormed();
      const sentence = `the columns ${earlier} and ${index + 1} have the same name, "${shown}".`;
      throw new CsvError('CSV_INVALID', sentence, line);
    }
    positions.set(name, index + 1);
  }
}
