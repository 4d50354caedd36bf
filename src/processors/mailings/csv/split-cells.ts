import { parse } from 'csv-parse/sync';
import type { RawRow } from './row-scanner.ts';

/** The cells of each row, or undefined where quotes are not as in RFC 4180. */
export function splitCells(rows: readonly RawRow[], delimiter: string): (string[] | undefined)[] {
  // csv-parse takes ten microseconds to begin, so it gets all its rows at once.
  const parsed = parseAll(
    rows.filter(({ quotes }) => quotes === 'proper'),
    delimiter,
  ).values();
  return rows.map(({ text, quotes }) => {
    // Without quotes there is nothing to parse, and this is ten times faster.
    if (quotes === 'none') return text.split(delimiter);
    return quotes === 'proper' ? parsed.next().value : undefined;
  });
}

function parseAll(rows: readonly RawRow[], delimiter: string): string[][] {
  if (rows.length === 0) return [];
  // The newlines in a row are all quoted, so whatever they are, one newline of our choice can part the rows.
  const options = { delimiter, record_delimiter: '\n', relax_column_count: true } as const;
  const records: string[][] = parse(rows.map(({ text }) => text).join('\n'), options);
  // A shift by one would give people each other's fields.
  if (records.length !== rows.length) throw new Error(`${rows.length} rows became ${records.length} records`);
  return records;
}
