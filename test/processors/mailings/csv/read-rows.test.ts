import { describe, expect, it } from 'vitest';
import { CsvError } from '../../../../src/processors/mailings/csv/csv-error.ts';
import type { CsvFormat } from '../../../../src/processors/mailings/csv/inspect-head.ts';
import { type CsvRow, readRows } from '../../../../src/processors/mailings/csv/read-rows.ts';
import { maxRowBytes } from '../../../../src/processors/mailings/csv/row-scanner.ts';
import { inChunks, readAll } from './read-all.ts';
import { brokenFiles, formatOf, largeFiles, readableFiles, utf8 } from './ugly-files.ts';

const chunkSizes = [1, 2, 3, 7, 65_536, Number.POSITIVE_INFINITY];
const twoColumns: CsvFormat = { encoding: 'utf-8', delimiter: ',', columns: ['email', 'name'], emailColumn: 0 };

describe.each(chunkSizes)('in chunks of %d bytes', (chunkBytes) => {
  it.each([...readableFiles, ...brokenFiles])('read right: $name', async (file) => {
    const { bytes, rows, fault } = file;
    const format = formatOf(file);
    const read = await readAll(bytes, format, { chunkBytes });
    expect(read.rows).toEqual(rows);
    expect(read.error?.message).toBe(fault);
    if (fault !== undefined) {
      expect(read.error).toBeInstanceOf(CsvError);
      expect(read.error).toMatchObject({ code: 'CSV_INVALID', line: Number(/^Line (\d+)/.exec(fault)?.[1]) });
    }
  });
});

describe('a row that is too large', () => {
  it.each(largeFiles)('ends the file and is not held in memory: $name', async ({ bytes, rows, fault }) => {
    for (const chunkBytes of [1_000, 65_536, bytes.length]) {
      let bytesTaken = 0;
      const source = async function* () {
        for await (const chunk of inChunks(bytes, chunkBytes)) {
          bytesTaken += chunk.length;
          yield chunk;
        }
      };
      const read = await readAll(source(), twoColumns);
      expect(read.rows).toEqual(rows);
      expect(read.error).toMatchObject({ code: 'CSV_INVALID', line: 3, message: fault });
      expect(bytesTaken).toBeLessThanOrEqual(Math.max(chunkBytes, maxRowBytes + 2 * 65_536));
    }
  });

  it.each([
    ['plain', 'x'.repeat(maxRowBytes - 2)],
    ['of characters of three bytes', `${'€'.repeat((maxRowBytes - 4) / 3)}xx`],
    ['quoted', `"${'x\n'.repeat((maxRowBytes - 4) / 2)}"`],
  ])('is one byte larger than the largest that is read: %s', async (_, cell) => {
    for (const chunkBytes of [10_007, 65_536]) {
      const fits = await readAll(utf8(`email,name\na,${cell}\nb,x`), twoColumns, { chunkBytes });
      expect(fits).toMatchObject({ rows: [{ line: 2 }, { cells: ['b', 'x'] }], error: undefined });
      const exceeds = await readAll(utf8(`email,name\nc,x\naa,${cell}\nb,x`), twoColumns, { chunkBytes });
      expect(exceeds).toMatchObject({ rows: [{ cells: ['c', 'x'] }], error: { line: 3 } });
    }
  });
});

describe('reading', () => {
  it('gives the rows of a chunk before it asks for the next', async () => {
    const rows = readRows(
      (async function* () {
        yield utf8('email,name\na,1\nb,2\nc');
        throw new Error('asked too soon');
      })(),
      twoColumns,
    );
    const first: CsvRow[] = [
      { line: 2, cells: ['a', '1'] },
      { line: 3, cells: ['b', '2'] },
    ];
    expect(await rows.next()).toEqual({ done: false, value: first });
    await expect(rows.next()).rejects.toThrow('asked too soon');
  });

  it('does not trust a source to leave its chunks alone', async () => {
    const reused = Buffer.alloc(1);
    const source = async function* () {
      for (const byte of utf8('email,name\na,€😀\n')) {
        reused[0] = byte;
        yield reused;
      }
    };
    expect(await readAll(source(), twoColumns)).toEqual({ rows: [{ line: 2, cells: ['a', '€😀'] }], error: undefined });
  });

  it('finds each refused row among many quoted ones', async () => {
    const isBad = (index: number) => index % 7 === 3 || (index > 300 && index < 420);
    const lines = Array.from({ length: 1_000 }, (_, index) => (isBad(index) ? `a"${index}",` : `"${index}","x"`));
    const { rows } = await readAll(utf8(`email,name\n${lines.join('\n')}`), twoColumns);
    const expected = lines.map((text, index) =>
      isBad(index)
        ? { line: index + 2, cells: undefined, text, reason: 'has a quote in the wrong place' }
        : { line: index + 2, cells: [String(index), 'x'] },
    );
    expect(rows).toEqual(expected);
  });
});

describe('skipping the rows that were read before', () => {
  it.each([...readableFiles, ...brokenFiles])('leaves exactly the rest: $name', async (file) => {
    const { bytes, rows, fault } = file;
    const format = formatOf(file);
    for (let skipRows = 0; skipRows <= rows.length + 1; skipRows += 1) {
      const read = await readAll(bytes, format, { chunkBytes: 5, skipRows });
      expect(read.rows).toEqual(rows.slice(skipRows));
      expect(read.error?.message).toBe(fault);
    }
  });
});
