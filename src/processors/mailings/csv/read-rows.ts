import { undecodableAt } from './csv-error.ts';
import { CsvTextDecoder } from './csv-text-decoder.ts';
import type { TableFormat } from './inspect-head.ts';
import { type RawRow, RowScanner } from './row-scanner.ts';
import { splitCells } from './split-cells.ts';

/** `line` is the physical line on which the row begins; no two rows have the same. */
export type CsvRow =
  | { line: number; cells: string[] }
  | { line: number; cells: undefined; text: string; reason: string };

/** Enough to recognise a row by, and little enough to keep for each of a million rows. */
const maxTextLength = 1_000;

/** As much as file streams give at once. A source that gives all at once must not make us decode all at once. */
const pieceBytes = 65_536;

/**
 * Reads the rows after the header, as they come. Rows do not depend on how the source is cut into chunks, so the
 * number of those that were read is a place to go on from. Throws CsvError where no row after it could be trusted.
 */
export async function* readRows(
  source: AsyncIterable<Uint8Array>,
  format: TableFormat,
  options: { skipRows?: number } = {},
): AsyncGenerator<CsvRow[]> {
  const decoder = new CsvTextDecoder(format.encoding);
  const scanner = new RowScanner(format.delimiter);
  let rowsToSkip = 1 + (options.skipRows ?? 0);
  let mayHaveNul = false;

  const take = (rows: RawRow[]): CsvRow[] => {
    const skipped = Math.min(rowsToSkip, rows.length);
    rowsToSkip -= skipped;
    return toRows(skipped === 0 ? rows : rows.slice(skipped), format, mayHaveNul);
  };

  for await (const chunk of source) {
    for (let start = 0; start < chunk.length; start += pieceBytes) {
      const { text, isBroken } = decoder.decode(chunk.subarray(start, start + pieceBytes));
      mayHaveNul ||= text.includes('\0');
      const rows = take(scanner.scan(text));
      if (rows.length > 0) yield rows;
      if (scanner.fault) throw scanner.fault;
      if (isBroken) throw undecodableAt(scanner.line, format.encoding);
    }
  }
  if (decoder.end().isBroken) throw undecodableAt(scanner.line, format.encoding);
  const rows = take(scanner.end());
  if (rows.length > 0) yield rows;
  if (scanner.fault) throw scanner.fault;
}

function toRows(rawRows: readonly RawRow[], format: TableFormat, mayHaveNul: boolean): CsvRow[] {
  const cellsOfRows = splitCells(rawRows, format.delimiter);
  return rawRows.map((raw, index) => {
    // Postgres stores no NUL, and no name or address has one.
    if (mayHaveNul && raw.text.includes('\0')) return toMalformedRow(raw, 'has a NUL character');
    const cells = cellsOfRows[index];
    if (cells === undefined) return toMalformedRow(raw, 'has a quote in the wrong place');
    const expected = format.columns.length;
    if (cells.length > expected) dropEmptyCells(cells, expected);
    if (cells.length !== expected) {
      const found = cells.length === 1 ? '1 cell' : `${cells.length} cells`;
      return toMalformedRow(raw, `has ${found} and the header ${expected}`);
    }
    return { line: raw.line, cells };
  });
}

/** Spreadsheets pad rows to the width of the widest. Only what is beyond the header, and only if all of it is empty. */
function dropEmptyCells(cells: string[], expected: number): void {
  for (let index = expected; index < cells.length; index += 1) if (cells[index] !== '') return;
  cells.length = expected;
}

function toMalformedRow({ line, text }: RawRow, reason: string): CsvRow {
  // The cut may fall between the halves of a character.
  const shown = text.slice(0, maxTextLength).toWellFormed().replaceAll('\0', '\uFFFD');
  return { line, cells: undefined, text: shown, reason };
}
