import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter, type RawLine } from '../../../src/api/bulk/line-splitter.ts';

const maxLineBytes = 12;

function splitAll(chunks: readonly Buffer[]): RawLine[] {
  const splitter = new LineSplitter(maxLineBytes);
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
}

/** The same, written so that it cannot be wrong. */
function splitSlowly(bytes: Buffer): RawLine[] {
  const lines: Buffer[] = [];
  for (let start = 0; start <= bytes.length; ) {
    const feed = bytes.indexOf(10, start);
    const end = feed === -1 ? bytes.length : feed;
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines.flatMap((content, index): RawLine[] => {
    const line = index + 1;
    if (content.length > maxLineBytes) return [{ line, text: '', fault: 'too long' }];
    const text = content.toString('utf8');
    if (!Buffer.from(text).equals(content)) return [{ line, text: '', fault: 'not UTF-8' }];
    return text.trim() === '' ? [] : [{ line, text: line === 1 ? text.trim() : text }];
  });
}

describe('lines', () => {
  const pieces = fc.constantFrom('a', '\n', '\n\n', 'é', '😀', ' ', '\r\n', 'twelve bytes', '\uFEFF');
  const bytes = fc
    .array(
      fc.oneof(
        pieces.map((text) => Buffer.from(text)),
        fc.constantFrom(Buffer.from([0xff]), Buffer.from([0xc3])),
      ),
    )
    .map((parts) => Buffer.concat(parts));

  it('are the same however the bytes are cut into chunks', () => {
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(40)), (all, cuts) => {
        const places = [0, ...cuts.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b), all.length];
        const chunks = places.slice(1).map((place, index) => all.subarray(places[index], place));
        expect(splitAll(chunks)).toEqual(splitSlowly(all));
      }),
    );
  });

  it('that are too long do not spoil those after them', () => {
    const splitter = new LineSplitter(1_000);
    for (let count = 0; count < 100; count += 1) expect(splitter.push(Buffer.alloc(65_536, 'x'))).toEqual([]);
    expect(splitter.push(Buffer.from('\nok\n'))).toEqual([
      { line: 1, text: '', fault: 'too long' },
      { line: 2, text: 'ok' },
    ]);
    expect(splitter.line).toBe(3);
  });
});
