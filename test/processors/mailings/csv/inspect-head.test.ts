import { describe, expect, it } from 'vitest';
import { CsvError } from '../../../../src/processors/mailings/csv/csv-error.ts';
import { headBytes, inspectHead } from '../../../../src/processors/mailings/csv/inspect-head.ts';
import { refusedFiles } from './refused-files.ts';
import { brokenFiles, formatOf, largeFiles, readableFiles, utf8, utf16le } from './ugly-files.ts';

function refusalOf(bytes: Uint8Array, isWhole: boolean): CsvError {
  try {
    inspectHead(bytes, isWhole);
  } catch (error) {
    if (error instanceof CsvError) return error;
    throw error;
  }
  throw new Error('The file was accepted.');
}

describe('a file that cannot be mailed to is refused at once, with the reason and the line', () => {
  it.each(refusedFiles)('$name', ({ bytes, isWhole = true, code, line, message }) => {
    const error = refusalOf(bytes, isWhole);
    expect(error).toMatchObject({ code, line });
    if (typeof message === 'string') expect(error.message).toBe(message);
    else expect(error.message).toMatch(message);
  });

  it.each(brokenFiles)('$name, if it is the whole file', ({ bytes, fault = '' }) => {
    const line = Number(/^Line (\d+)/.exec(fault)?.[1]);
    expect(refusalOf(bytes, true)).toMatchObject({ code: 'CSV_INVALID', line, message: fault });
  });
});

describe('the format is found', () => {
  it.each([...readableFiles, ...largeFiles])('$name', (file) => {
    const isWhole = file.bytes.length <= headBytes;
    const format = inspectHead(file.bytes.subarray(0, headBytes), isWhole);
    expect(format).toEqual(formatOf(file));
    // It is stored with the mailing.
    expect(JSON.parse(JSON.stringify(format))).toEqual(format);
  });

  it('also when the head ends within a character, a quoted cell or a CRLF', () => {
    const text = 'email,name\r\nada@example.com,"é€😀\r\n';
    for (const bytes of [utf8(text), utf16le(`\uFEFF${text}`)]) {
      const lengthOfHeader = bytes.indexOf(10) + 2;
      for (let length = lengthOfHeader; length <= bytes.length; length += 1) {
        expect(inspectHead(bytes.subarray(0, length), false)).toMatchObject({ columns: ['email', 'name'] });
      }
    }
  });

  it('also when only the header is within the head', () => {
    expect(inspectHead(utf8('email\n'), false)).toMatchObject({ columns: ['email'] });
  });

  it('with the most frequent delimiter, if there is a column email with several', () => {
    expect(inspectHead(utf8('email,a;b;email;c\n1\n'), true)).toMatchObject({ delimiter: ';', emailColumn: 2 });
    expect(inspectHead(utf8('a\temail\tb,email;x,y,z\n1\n'), true)).toMatchObject({ delimiter: '\t', emailColumn: 1 });
    expect(inspectHead(utf8('x;email;a,email,b,"c;;;;"\n1\n'), true)).toMatchObject({ delimiter: ',', emailColumn: 1 });
    expect(inspectHead(utf8('email\tx,"email",y,z\n1,2,3,4\n'), true)).toMatchObject({
      delimiter: ',',
      emailColumn: 1,
    });
  });

  it('with a comma, if there is one column', () => {
    expect(inspectHead(utf8('"email"\nx;y\n'), true)).toMatchObject({ delimiter: ',', columns: ['email'] });
  });
});
