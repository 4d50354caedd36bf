import type { CsvFormat } from '../../../../src/processors/mailings/csv/inspect-head.ts';
import type { CsvRow } from '../../../../src/processors/mailings/csv/read-rows.ts';

/** How a file that can be read is read: its rows, and the fault that ends them, if any. */
export interface ReadableFile extends Partial<CsvFormat> {
  name: string;
  bytes: Uint8Array;
  rows: CsvRow[];
  /** The message, which begins with the line. */
  fault?: string;
}

export function formatOf(file: ReadableFile): CsvFormat {
  const { encoding = 'utf-8', delimiter = ',', columns = ['email', 'name'], emailColumn = 0 } = file;
  return { encoding, delimiter, columns, emailColumn };
}

export const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8');
export const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');
export const utf16le = (text: string): Uint8Array => Buffer.from(text, 'utf16le');
export const utf16be = (text: string): Uint8Array => Buffer.from(text, 'utf16le').swap16();
export const mark = '\uFEFF';

export const ada = 'ada@example.com';
const bob = 'bob@example.com';
const good = (line: number, ...cells: string[]): CsvRow => ({ line, cells });
const bad = (line: number, reason: string, text: string): CsvRow => ({ line, cells: undefined, text, reason });
const strayQuote = 'has a quote in the wrong place';
const twoRows = [good(2, ada, 'Ada'), good(3, bob, 'Bob')];
export const joined = (newline: string) => ['email,name', `${ada},Ada`, `${bob},Bob`, ''].join(newline);
const tenMegabytes = 'x'.repeat(10_000_000);

export const readableFiles: ReadableFile[] = [
  { name: 'plain, LF', bytes: utf8(joined('\n')), rows: twoRows },
  { name: 'plain, CRLF', bytes: utf8(joined('\r\n')), rows: twoRows },
  { name: 'plain, CR', bytes: utf8(joined('\r')), rows: twoRows },
  { name: 'no newline at the end', bytes: utf8(joined('\n').trimEnd()), rows: twoRows },
  { name: 'return at the end', bytes: utf8(`${joined('\n').trimEnd()}\r`), rows: twoRows },
  {
    name: 'mixed newlines and blank lines, also before the header',
    bytes: utf8(`\r\n\nemail,name\r${ada},1\n\r\n \t\r${bob},2\r\n\r\r\n${ada},3\n\n`),
    rows: [good(4, ada, '1'), good(7, bob, '2'), good(10, ada, '3')],
  },
  { name: 'UTF-8 with a mark', bytes: utf8(mark + joined('\n')), rows: twoRows },
  { name: 'UTF-16 LE with a mark', bytes: utf16le(mark + joined('\r\n')), encoding: 'utf-16le', rows: twoRows },
  { name: 'UTF-16 BE with a mark', bytes: utf16be(mark + joined('\r\n')), encoding: 'utf-16be', rows: twoRows },
  {
    name: 'marks that are no byte order marks',
    bytes: utf8(`email,name\n${mark}${ada},${mark}x${mark}\n`),
    rows: [good(2, `${mark}${ada}`, `${mark}x${mark}`)],
  },
  {
    name: 'characters of two, three and four bytes',
    bytes: utf8(`email,name\n${ada},é€😀\n${bob},😀`),
    rows: [good(2, ada, 'é€😀'), good(3, bob, '😀')],
  },
  {
    name: 'characters of two, three and four bytes in UTF-16',
    bytes: utf16le(`${mark}email,name\n${ada},é€😀\n${bob},😀`),
    encoding: 'utf-16le',
    rows: [good(2, ada, 'é€😀'), good(3, bob, '😀')],
  },
  { name: 'semicolons', bytes: utf8(joined('\n').replaceAll(',', ';')), delimiter: ';', rows: twoRows },
  { name: 'tabs', bytes: utf8(joined('\n').replaceAll(',', '\t')), delimiter: '\t', rows: twoRows },
  {
    name: 'semicolons, and commas in the cells',
    bytes: utf8(`email;a,b,c\n${ada};1,2,3\n`),
    delimiter: ';',
    columns: ['email', 'a,b,c'],
    rows: [good(2, ada, '1,2,3')],
  },
  {
    name: 'one column',
    bytes: utf8(`EMail\n${ada}\n\n${bob}`),
    columns: ['EMail'],
    rows: [good(2, ada), good(4, bob)],
  },
  {
    name: 'a quoted header with a newline in it, and email not first',
    bytes: utf8(`"first\r\nname"," E-Mail ","""x"""," eMAIL "\nAda,a,b,${ada}\n`),
    columns: ['first\r\nname', 'E-Mail', '"x"', 'eMAIL'],
    emailColumn: 3,
    rows: [good(3, 'Ada', 'a', 'b', ada)],
  },
  {
    name: 'columns without a name',
    bytes: utf8(`,email, ,\n1,${ada},2,3\n`),
    columns: ['', 'email', '', ''],
    emailColumn: 1,
    rows: [good(2, '1', ada, '2', '3')],
  },
  {
    name: 'quoted cells with newlines of all kinds, delimiters and quotes',
    bytes: utf8(`email,name\n${ada},"1\r\n2\r3\n4\n\r5"\r\n"${bob}","a "",\n""b"\r${ada},""\n"""",x`),
    rows: [good(2, ada, '1\r\n2\r3\n4\n\r5'), good(8, bob, 'a ",\n"b'), good(10, ada, ''), good(11, '"', 'x')],
  },
  {
    name: 'ragged rows',
    bytes: utf8(`email,name\n${ada}\n${ada},1,2\n${bob},Bob,,\n,\n${bob},"Bob",""\n${bob},,x\n`),
    rows: [
      bad(2, 'has 1 cell and the header 2', ada),
      bad(3, 'has 3 cells and the header 2', `${ada},1,2`),
      good(4, bob, 'Bob'),
      good(5, '', ''),
      good(6, bob, 'Bob'),
      bad(7, 'has 3 cells and the header 2', `${bob},,x`),
    ],
  },
  {
    name: 'quotes in the middle of cells',
    bytes: utf8(
      `email,name\n${ada},a "b" c\n${bob},Bob\n"x"y,"\n"\n${bob}, "b"\n"${bob}",Bob\n${bob},5"\n"a "b, c" d",\n${bob},`,
    ),
    rows: [
      bad(2, strayQuote, `${ada},a "b" c`),
      good(3, bob, 'Bob'),
      bad(4, strayQuote, '"x"y,"\n"'),
      bad(6, strayQuote, `${bob}, "b"`),
      good(7, bob, 'Bob'),
      bad(8, strayQuote, `${bob},5"`),
      bad(9, strayQuote, '"a "b, c" d",'),
      good(10, bob, ''),
    ],
  },
  {
    name: 'NUL in rows, quoted and not',
    bytes: utf8(`email,name\n${ada},\0A\0\n${bob},"Bob"\n"${ada}"\0,"\0\n"\n\0\n${bob},Bob\n`),
    rows: [
      bad(2, 'has a NUL character', `${ada},\uFFFDA\uFFFD`),
      good(3, bob, 'Bob'),
      bad(4, 'has a NUL character', `"${ada}"\uFFFD,"\uFFFD\n"`),
      bad(6, 'has a NUL character', '\uFFFD'),
      good(7, bob, 'Bob'),
    ],
  },
  {
    name: 'a bad row that is too long to show, cut within a character',
    bytes: utf8(`email,name\n${'x'.repeat(999)}😀${'y'.repeat(99)}\n${bob},Bob\n`),
    rows: [bad(2, 'has 1 cell and the header 2', `${'x'.repeat(999)}\uFFFD`), good(3, bob, 'Bob')],
  },
];

/** Their heads are fine when they are not the whole file. */
export const brokenFiles: ReadableFile[] = [
  {
    name: 'Latin-1 after some rows',
    bytes: latin1(`email,name\r\n${ada},Ada\r\n\r\n${bob},"a\r\nJosé`),
    rows: [good(2, ada, 'Ada')],
    fault: 'Line 5: the text is not valid UTF-8; save the file as UTF-8.',
  },
  {
    name: 'Latin-1 at the end of a line',
    bytes: latin1(`email,name\n${ada},Ren\xe9\n${bob},Bob\n`),
    rows: [],
    fault: 'Line 2: the text is not valid UTF-8; save the file as UTF-8.',
  },
  {
    name: 'a byte that no encoding of UTF-8 has, after CRLF',
    bytes: latin1(`email,name\r\n${ada},Ada\r\n\xff`),
    rows: [good(2, ada, 'Ada')],
    fault: 'Line 3: the text is not valid UTF-8; save the file as UTF-8.',
  },
  {
    name: 'a character that the end of the file cuts',
    bytes: utf8(`email,name\n${ada},Ada\n${bob},😀`).subarray(0, -1),
    rows: [good(2, ada, 'Ada')],
    fault: 'Line 3: the text is not valid UTF-8; save the file as UTF-8.',
  },
  {
    name: 'half a pair in UTF-16',
    bytes: utf16le(`${mark}email,name\n${ada},Ada\n${bob},\ud83dx\n`),
    encoding: 'utf-16le',
    rows: [good(2, ada, 'Ada')],
    fault: 'Line 3: the text is not valid UTF-16LE; save the file as UTF-8.',
  },
  {
    name: 'half a unit at the end of UTF-16',
    bytes: utf16be(`${mark}email,name\n${ada},Ada\n${bob},Bob`).subarray(0, -1),
    encoding: 'utf-16be',
    rows: [good(2, ada, 'Ada')],
    fault: 'Line 3: the text is not valid UTF-16BE; save the file as UTF-8.',
  },
  {
    name: 'a quote that is never closed',
    bytes: utf8(`email,name\n${ada},Ada\n${bob},"a\nb"\n"x\ny",\n"${bob}\r\n${ada},Ada\n${bob},Bob\n`),
    rows: [good(2, ada, 'Ada'), good(3, bob, 'a\nb'), good(5, 'x\ny', '')],
    fault: 'Line 7: a quote is opened and never closed.',
  },
  {
    name: 'a quote that is never closed, though there are two in its cell',
    bytes: utf8(`email,name\n${ada},Ada\n${bob},"a\n""b""\n""\n`),
    rows: [good(2, ada, 'Ada')],
    fault: 'Line 3: a quote is opened and never closed.',
  },
  {
    name: 'a quote that is opened on a later line of its row and never closed',
    bytes: utf8(`email,name\n"a\r\nb","c\n`),
    rows: [],
    fault: 'Line 3: a quote is opened and never closed.',
  },
];

const tooLarge = 'Line 3: the row is larger than 1 MiB; a quote in it may not have been closed.';
export const largeFiles: ReadableFile[] = [
  {
    name: 'a field of 10 MB',
    bytes: utf8(`email,name\n${ada},Ada\n${bob},${tenMegabytes}\n${bob},Bob\n`),
    rows: [good(2, ada, 'Ada')],
    fault: tooLarge,
  },
  {
    name: 'a quote that is closed after 10 MB',
    bytes: utf8(`email,name\n${ada},Ada\n${bob},"${tenMegabytes}\n"\n${bob},Bob\n`),
    rows: [good(2, ada, 'Ada')],
    fault: tooLarge,
  },
  {
    name: 'a quote that is never closed before few characters of many bytes',
    bytes: utf8(`email,name\n${ada},Ada\n${bob},"${'€'.repeat(1_000_000)}\n`),
    rows: [good(2, ada, 'Ada')],
    fault: tooLarge,
  },
];
