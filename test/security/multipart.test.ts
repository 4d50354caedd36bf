import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { SafeApi } from './safe-answer.ts';
import { countRows } from './stored-rows.ts';

let service: TestService;
let api: SafeApi;
let before: Record<string, number>;
let filesBefore: string[];

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  await mkdir(service.environment.SEMEL_DATA_DIR ?? '', { recursive: true });
  api = new SafeApi(service.api.url);
});

beforeEach(async () => {
  before = await countRows(service.db);
  filesBefore = await listStored();
});

afterAll(async () => {
  await api.close();
  await service.close();
});

/** Every file under the data folder, wherever in it. */
async function listStored(): Promise<string[]> {
  const entries = await readdir(service.environment.SEMEL_DATA_DIR ?? '', { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

const boundary = 'the-boundary-of-the-tests';
const send = (body: string | Buffer, type = `multipart/form-data; boundary=${boundary}`) =>
  api.send('POST', '/v1/mailings', body, { headers: { 'content-type': type } });
const part = (headers: string, value = 'x') => `--${boundary}\r\n${headers}\r\n\r\n${value}\r\n`;
const field = (name: string, value = 'x') => part(`Content-Disposition: form-data; name="${name}"`, value);
const file = (more = '; filename="list.csv"') =>
  part(`Content-Disposition: form-data; name="file"${more}\r\nContent-Type: text/csv`, 'email\nada@example.com\n');
const end = `--${boundary}--\r\n`;
const nested = `multipart/mixed; boundary=inner`;

describe('a form that is made to break a parser', () => {
  // Refused with nothing kept: no row, no file, not even half of one.
  afterEach(async () => {
    expect(await countRows(service.db)).toEqual(before);
    expect(await listStored()).toEqual(filesBefore);
  });

  it.each<[string, string]>([
    ['10 000 fields', Array.from({ length: 10_000 }, (_, n) => field(`f${n}`)).join('') + file() + end],
    ['10 000 fields of one name', field('subject').repeat(10_000) + file() + end],
    ['10 000 files', file().repeat(10_000) + end],
    ['10 000 parts without a header', `--${boundary}\r\n\r\n\r\n`.repeat(10_000) + end],
    ['10 000 parts after the file', file() + field('text').repeat(10_000) + end],
    [
      'a header of a megabyte',
      part(`Content-Disposition: form-data; name="subject"; x="${'a'.repeat(1_000_000)}"`) + end,
    ],
    [
      '100 000 headers',
      part(`Content-Disposition: form-data; name="subject"\r\n${'X: y\r\n'.repeat(100_000)}X: y`) + end,
    ],
    ['a header that never ends', `--${boundary}\r\nContent-Disposition: ${'form-data; '.repeat(100_000)}`],
    ['a name of a megabyte', field('a'.repeat(1_000_000)) + end],
    ['a text of three megabytes', field('text', 'a'.repeat(3_000_000)) + file() + end],
    [
      'a form inside a form',
      part(
        `Content-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: ${nested}`,
        '--inner\r\n\r\nemail\r\n--inner--',
      ) + end,
    ],
    ['only a boundary', `--${boundary}`],
    ['only the end', end],
    ['nothing', ''],
    ['no boundary in the body', 'email\nada@example.com\n'],
    ['boundaries and nothing else', `--${boundary}\r\n`.repeat(10_000)],
    ['a file that never ends', file().slice(0, -4)],
    ['a part without a name', part('Content-Disposition: form-data') + file() + end],
    ['a part that is no form data', part('Content-Disposition: attachment; filename="list.csv"') + end],
    ['a name of the language', field('__proto__') + file() + end],
    ['a rate that is none', field('ratePerSecond', '1e9') + file() + end],
  ])('with %s is refused', async (_name, body) => {
    const answer = await send(body);
    expect(answer.status, answer.text).toBe(400);
    expect(answer.text.length).toBeLessThan(2_000);
  });

  it.each([
    ...['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary=""'],
    ...[
      `multipart/form-data; boundary=${'b'.repeat(5_000)}`,
      'multipart/form-data; charset=utf-8',
      'multipart/form-data;',
    ],
    ...['multipart/mixed; boundary=x', 'multipart/form-datax; boundary=x', 'multipart/form-data; boundary*=x'],
  ])('of the type %s is refused', async (type) => {
    const answer = await send(field('subject') + file() + end, type);
    expect([400, 415], answer.text).toContain(answer.status);
  });

  it.each([
    ...[
      '../list.csv',
      '../../../../etc/passwd',
      '..\\list.csv',
      '/etc/cron.d/list',
      'C:\\list.csv',
      'a/b.csv',
      '\\\\host\\a',
    ],
    ...['a\u0000.csv', 'a\r.csv', 'a\u007f.csv', 'a\u2028b.csv', 'a\u0085b.csv', 'x'.repeat(300), '\u001b[31mred.csv'],
  ])('with the filename %j is refused', async (name) => {
    const query = await api.send(
      'POST',
      `/v1/mailings?filename=${encodeURIComponent(name)}`,
      'email\na@example.com\n',
      {
        headers: { 'content-type': 'text/csv' },
      },
    );
    expect(query.status, query.text).toBe(400);
    expect(query.body.errors[0].path).toBe('filename');
  });
});

describe('a filename in a form', () => {
  it.each([
    ...['../one.csv', '../../../../etc/passwd', '..\\two.csv', '/etc/cron.d/list', 'C:\\three.csv', 'a\u0000.csv'],
    ...[
      'a\u001b[31m.csv',
      'a%0d%0aX-Evil: 1.csv',
      'a\\"b.csv',
      '.',
      '..',
      '~',
      '$(reboot).csv',
      '`id`.csv',
      'CON',
      '-rf',
    ],
  ])('%j names no file of ours, and is shown without folders or not at all', async (name) => {
    const answer = await send(
      file(`; filename="${name}"`).replace('ada', `user-${Buffer.from(name).toString('hex')}`) + end,
    );
    expect([202, 400], answer.text).toContain(answer.status);
    if (answer.status === 202) expect(answer.body.filename).not.toMatch(/[/\\\p{Cc}]/u);
    const added = (await listStored()).filter((path) => !filesBefore.includes(path));
    expect(added).toHaveLength(answer.status === 202 ? 1 : 0);
    for (const path of added) expect(path).toMatch(/\/mailings\/[0-9a-f-]{36}\.csv$/);
  });

  it('cannot begin another header of its part', async () => {
    const answer = await send(file('; filename="a.csv\r\nX-Evil: 1"') + end);
    expect([202, 400], answer.text).toContain(answer.status);
    expect(JSON.stringify(answer.headers)).not.toContain('vil');
    expect(answer.text).not.toContain('\\r');
  });
});
