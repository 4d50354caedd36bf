import { ada, joined, latin1, mark, utf8, utf16be, utf16le } from './ugly-files.ts';

export interface RefusedFile {
  name: string;
  bytes: Uint8Array;
  isWhole?: boolean;
  code: 'CSV_INVALID' | 'CSV_EMPTY';
  line?: number;
  message: string | RegExp;
}

export const refusedFiles: RefusedFile[] = [
  { name: 'nothing', bytes: utf8(''), code: 'CSV_EMPTY', message: 'The file is empty.' },
  { name: 'only a mark', bytes: utf8(mark), code: 'CSV_EMPTY', message: 'The file is empty.' },
  { name: 'only blank lines', bytes: utf8('\n\r\n  \r\r\n'), code: 'CSV_EMPTY', message: 'The file is empty.' },
  { name: 'only a header', bytes: utf8('email,name'), code: 'CSV_EMPTY', message: 'The file has a header and no row.' },
  {
    name: 'a header and blank lines',
    bytes: utf16be(`${mark}email\r\n\r\n \r\n`),
    code: 'CSV_EMPTY',
    message: 'The file has a header and no row.',
  },
  {
    name: 'UTF-16 LE without a mark',
    bytes: utf16le(joined('\n')),
    code: 'CSV_INVALID',
    message: 'The file looks like UTF-16 without a byte order mark; save it as UTF-8.',
  },
  {
    name: 'UTF-16 BE without a mark',
    bytes: utf16be(`姓名,${joined('\n')}`),
    code: 'CSV_INVALID',
    message: 'The file looks like UTF-16 without a byte order mark; save it as UTF-8.',
  },
  {
    name: 'the head of a PNG',
    bytes: latin1('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x02\0\b\x06\0\0\0\xf4x\xd4\xfa'),
    code: 'CSV_INVALID',
    message: 'The file is not text; if it is a spreadsheet, export it as CSV.',
  },
  {
    name: 'the head of a spreadsheet',
    bytes: latin1('PK\x03\x04\x14\0\x06\0\b\0\0\0!\0A7\x82\xcfn\x01'),
    code: 'CSV_INVALID',
    message: 'The file is not text; if it is a spreadsheet, export it as CSV.',
  },
  {
    name: 'NUL in the header',
    bytes: utf8(`\nemail,na\0me\n${ada},Ada\n`),
    code: 'CSV_INVALID',
    line: 2,
    message: /^Line 2: the header has control characters/,
  },
  {
    name: 'no column email',
    bytes: utf8('e-mail;name;;"a;b"\n1;2;3;4\n'),
    code: 'CSV_INVALID',
    line: 1,
    message: 'Line 1: the header has no column "email"; its columns are: e-mail, name, a;b.',
  },
  {
    name: 'very many columns and no email',
    bytes: utf8(`${Array.from({ length: 5_000 }, (_, index) => `c${index}`).join()}\n1\n`),
    code: 'CSV_INVALID',
    line: 1,
    message: /^Line 1: the header has no column "email"; its columns are: c0, c1, .{280,310}…\.$/,
  },
  {
    name: 'two columns of one name',
    bytes: utf8(`email,Name,x, nAME \n${ada},1,2,3\n`),
    code: 'CSV_INVALID',
    line: 1,
    message: 'Line 1: the columns 2 and 4 have the same name, "nAME".',
  },
  {
    name: 'two columns email',
    bytes: utf8(`\n\nemail,EMAIL\n${ada},1\n`),
    code: 'CSV_INVALID',
    line: 3,
    message: 'Line 3: the columns 1 and 2 have the same name, "EMAIL".',
  },
  {
    name: 'a stray quote in the header',
    bytes: utf8(`email,"na"me\n${ada},1\n`),
    code: 'CSV_INVALID',
    line: 1,
    message: 'Line 1: the header has a quote in the wrong place.',
  },
  {
    name: 'a quote of the header that is never closed',
    bytes: utf8(`\nemail;"name\n${ada};1\n`),
    code: 'CSV_INVALID',
    line: 2,
    message: 'Line 2: a quote is opened and never closed.',
  },
  {
    name: 'a header that is longer than the head',
    bytes: utf8(`email,${'x'.repeat(70_000)}\n${ada},1\n`).subarray(0, 65_536),
    isWhole: false,
    code: 'CSV_INVALID',
    message: /^The header does not end within the first 64 KiB/,
  },
  {
    name: 'blank lines that are longer than the head',
    bytes: utf8('\n'.repeat(65_536)),
    isWhole: false,
    code: 'CSV_INVALID',
    message: /^The header does not end within the first 64 KiB/,
  },
  {
    name: 'Latin-1 in the header',
    bytes: latin1('email,pr\xe9nom\n1,2\n'),
    code: 'CSV_INVALID',
    line: 1,
    message: 'Line 1: the text is not valid UTF-8; save the file as UTF-8.',
  },
];
