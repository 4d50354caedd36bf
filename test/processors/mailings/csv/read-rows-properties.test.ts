import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CsvFormat, headBytes, inspectHead } from '../../../../src/processors/mailings/csv/inspect-head.ts';
import { readAll } from './read-all.ts';
import { utf8, utf16be, utf16le } from './ugly-files.ts';

const writers = { 'utf-8': utf8, 'utf-16le': utf16le, 'utf-16be': utf16be };
const newline = fc.constantFrom('\n', '\r\n', '\r');
const delimiter = fc.constantFrom(',', ';', '\t');
const chunkBytes = fc.constantFrom(1, 2, 3, 7, 50, 65_536);
/** What is hard to read, and now and then any character. Postgres takes no NUL, and neither do we. */
const awkward = fc.constantFrom(
  '"',
  '""',
  ',',
  ';',
  '\t',
  '\n',
  '\r',
  '\r\n',
  ' ',
  'a',
  'é',
  '€',
  '😀',
  '\uFEFF',
  '\u2028',
);
const cell = fc
  .array(fc.oneof(awkward, awkward, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 6 })
  .map((parts) => parts.join('').replaceAll('\0', '').toWellFormed());

it('what a writer of CSV writes is read back, in any encoding, with any delimiter and newline, in any chunks', async () => {
  const file = fc.record({
    rows: fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 12 }),
    encoding: fc.constantFrom('utf-8', 'utf-16le', 'utf-16be'),
    isQuotedAll: fc.boolean(),
    hasMark: fc.boolean(),
    hasLastNewline: fc.boolean(),
    ...{ delimiter, newline, chunkBytes },
  });
  const property = fc.asyncProperty(file, async (made) => {
    const { rows, encoding, hasMark } = made;
    const text = stringify([['name', 'email', ''], ...rows], {
      delimiter: made.delimiter,
      record_delimiter: made.newline,
      // A writer that does not quote returns, and spaces that make a line look blank, writes what nobody could read.
      quoted: made.isQuotedAll,
      quoted_match: /[\s"]/,
      quoted_empty: true,
      eof: made.hasLastNewline,
    });
    const bytes = writers[encoding](encoding !== 'utf-8' || hasMark ? `\uFEFF${text}` : text);
    const format = inspectHead(bytes.subarray(0, headBytes), bytes.length <= headBytes);
    expect(format).toEqual({ encoding, delimiter: made.delimiter, columns: ['name', 'email', ''], emailColumn: 1 });
    const read = await readAll(bytes, format, { chunkBytes: made.chunkBytes });
    expect(read.error).toBeUndefined();
    expect(read.rows.map(({ cells }) => cells)).toEqual(rows);
    expect(read.rows.map(({ line }) => line)).toEqual(linesOf(['name,email,', ...rows.map((row) => row.join())]));
  });
  await fc.assert(property, { numRuns: 500 });
});

/** The header is on line 1, and each newline in a cell puts off the rows after it. */
function linesOf(rows: readonly string[]): number[] {
  const heights = rows.map((row) => 1 + (row.match(/\r\n|\r|\n/g)?.length ?? 0));
  return rows.slice(1).map((_, index) => 1 + heights.slice(0, index + 1).reduce((sum, height) => sum + height, 0));
}

/** Bytes of which no two in a row are likely to make sense. */
const soup = fc
  .array(fc.constantFrom('"', '"', ',', ',', '\n', '\r', '\r\n', 'a', ' ', 'é', '😀', '\0', '\u00ff'), {
    maxLength: 60,
  })
  .map((parts) => parts.join(''));
const format: CsvFormat = { encoding: 'utf-8', delimiter: ',', columns: ['email', 'name'], emailColumn: 0 };

it('any soup gives the same rows and the same fault whatever the chunks and the rows skipped, on lines that grow', async () => {
  const bytes = soup.map((text) => Buffer.from(text, text.includes('\u00ff') ? 'latin1' : 'utf8'));
  const property = fc.asyncProperty(bytes, chunkBytes, async (file, size) => {
    const whole = await readAll(file, format);
    const { rows, error } = whole;
    expect(error === undefined || error.name === 'CsvError').toBe(true);
    expect(await readAll(file, format, { chunkBytes: size })).toEqual(whole);
    for (let skipRows = 1; skipRows <= rows.length; skipRows += 1) {
      const rest = await readAll(file, format, { chunkBytes: size, skipRows });
      expect(rest).toEqual({ rows: rows.slice(skipRows), error });
    }
    for (const [index, { line }] of rows.entries()) expect(line).toBeGreaterThan(rows[index - 1]?.line ?? 0);
    for (const { cells } of rows) expect(cells?.length ?? 2).toBe(2);
  });
  await fc.assert(property, { numRuns: 2_000 });
});

it('a bad row never takes a good one with it', async () => {
  const line = fc
    .array(fc.constantFrom('"', ',', 'a', ' ', '\0'), { maxLength: 8 })
    .map((parts) => parts.join(''))
    // A quote that is open at the end of the line has every right to go on.
    .filter((text) => !/(^|,)"(?:[^"]|"")*$/.test(text));
  const property = fc.asyncProperty(fc.array(line, { maxLength: 20 }), newline, async (lines, end) => {
    const text = ['email,name', ...lines.flatMap((bad, index) => [bad, `"good","${index}"`])].join(end);
    const { rows } = await readAll(utf8(text), format);
    const goodRows = rows.filter(({ cells }) => cells?.[0] === 'good');
    expect(goodRows).toEqual(lines.map((_, index) => ({ line: 3 + 2 * index, cells: ['good', String(index)] })));
  });
  await fc.assert(property, { numRuns: 1_000 });
});

it('the quotes that are refused are those that a strict parser refuses, and the others are read as it reads them', async () => {
  const line = fc
    .array(fc.constantFrom('"', '"', ',', 'a', ' ', 'é'), { minLength: 1, maxLength: 10 })
    .map((parts) => parts.join(''))
    .filter((text) => text.trim() !== '');
  const property = fc.asyncProperty(line, async (text) => {
    const { rows, error } = await readAll(utf8(`email,name\n${text}`), format);
    let record: string[] | undefined;
    try {
      [record] = parse(text, { record_delimiter: '\n' });
    } catch {
      // Refused: either the quotes are stray, or one is open at the end of the file.
      expect(rows[0]?.cells).toBeUndefined();
      expect(error?.message ?? rows).toEqual(
        error
          ? 'Line 2: a quote is opened and never closed.'
          : [expect.objectContaining({ reason: 'has a quote in the wrong place' })],
      );
      return;
    }
    expect(error).toBeUndefined();
    while (record && record.length > 2 && record.at(-1) === '') record.pop();
    if (record?.length === 2) expect(rows).toEqual([{ line: 2, cells: record }]);
    else expect(rows).toMatchObject([{ cells: undefined, reason: expect.stringMatching(/^has \d+ cells? and/) }]);
  });
  await fc.assert(property, { numRuns: 3_000 });
});
