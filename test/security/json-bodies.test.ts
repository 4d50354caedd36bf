import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openConnection, readAnswer, requestBytes } from '../api/raw-request.ts';
import type { Answer } from '../support/api.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { bodyOf, listJsonRoutes, listRoutes, pathOf, type Route, valuesOf } from './described-routes.ts';
import { type Planted, plantingEnvironment, plantThings } from './planted-things.ts';
import { expectSafe, SafeApi } from './safe-answer.ts';
import { countRows } from './stored-rows.ts';

let service: TestService;
let api: SafeApi;
let planted: Planted;
let before: Record<string, number>;

beforeAll(async () => {
  service = await startTestService({ environment: plantingEnvironment });
  api = new SafeApi(service.api.url);
  planted = await plantThings(api);
});

beforeEach(async () => {
  before = await countRows(service.db);
});

afterAll(async () => {
  await api.close();
  await service.close();
});

const targetOf = (route: Route) => pathOf(route, valuesOf(route, planted));
const send = (route: Route, body: string | Buffer, headers: Record<string, string> = {}) =>
  api.send(route.method, targetOf(route), body, { key: randomUUID(), headers });
const codeOf = ({ status, body }: Answer) => `${status} ${body?.code}`;

const deep = '['.repeat(100_000);
const whole: [string, string][] = [
  ['100 000 levels deep', deep],
  ['100 000 levels deep and closed', `{"a":${deep}${']'.repeat(100_000)}}`],
  ['50 000 objects deep', '{"a":'.repeat(50_000)],
  ['an array of 100 000 things', `[${'0,'.repeat(99_999)}0]`],
  ['20 000 fields', `{${Array.from({ length: 20_000 }, (_, n) => `"f${n}":1`).join()}}`],
  ['a number of 100 000 digits', '9'.repeat(100_000)],
  ['a string of 200 000 characters', `"${'a'.repeat(200_000)}"`],
  ['a name of 200 000 characters', `{"${'a'.repeat(200_000)}":1}`],
];
/** In the place of any value. None of them can be stored, or means the same to everybody. */
const values = [
  ...['1e400', '-1e400', '9'.repeat(400), '0.1e-400', '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"'],
  ...[`"${'a'.repeat(200_000)}"`, '{"\\u0000":1}', '{"\\ud800":1}', '["\\u0000"]', '{"a":1,"a":1}', '"\u0000"'],
];

describe('JSON that is made to break a parser', () => {
  it.each(listJsonRoutes())('is refused and stores nothing: $name', async (route) => {
    const good = bodyOf(route, planted);
    const fields = Object.keys(good);
    expect(fields.length).toBeGreaterThan(0);
    const twice = fields.map((name) => JSON.stringify(good).replace(/\}$/, `,${JSON.stringify(name)}:1}`));
    const broken = fields.flatMap((name) => {
      const text = JSON.stringify({ ...good, [name]: '?' });
      return values.map((value) => text.replace('"?"', () => value));
    });
    const bodies = [...whole.map(([, body]) => body), ...twice, ...broken];
    const codes = await Promise.all(bodies.map(async (body) => codeOf(await send(route, body))));
    const taken = bodies.filter((_, index) => codes[index] !== '400 INVALID_REQUEST');
    expect(taken.map((body) => body.slice(0, 200))).toEqual([]);
    expect(await countRows(service.db)).toEqual(before);
  });

  it('is refused line by line in a bulk request, and the lines after it are taken', async () => {
    const request = (value: string) =>
      `{"operation":"account.open","key":"k","request":{"owner":${value},"currency":"EUR"}}`;
    const bad = [...whole.map(([, body]) => body), ...values.map(request)];
    const key = randomUUID();
    const good = `{"operation":"account.open","key":"${key}","request":{"owner":"Ada","currency":"EUR"}}`;
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await api.send('POST', '/v1/operations/bulk', [...bad, good].join('\n'), { headers });
    const lines = answer.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ code }) => code)).toEqual([...bad.map(() => 'INVALID_REQUEST'), undefined]);
    expect(lines.at(-1)).toMatchObject({ created: true });
    // Asking again waits for it, so that it is not still running in the tests that follow.
    const body = { owner: 'Ada', currency: 'EUR' };
    expect((await api.post('/v1/accounts', body, { key })).status).toBe(201);
  });
});

/** A hundred megabytes that are a hundred kilobytes on the way. */
const bomb = gzipSync(Buffer.alloc(100_000_000));

describe('a body that is compressed', () => {
  const taking = listRoutes().filter(({ types }) => types.length > 0);

  it.each(taking)('is refused and never inflated: $name', async (route) => {
    const rssBefore = process.memoryUsage().rss;
    const text = JSON.stringify(bodyOf(route, planted));
    const bodies: [string, Buffer][] = [
      ['gzip', gzipSync(text)],
      ['br', brotliCompressSync(text)],
      ['deflate', deflateSync(text)],
      ['gzip', bomb],
      ['gzip, identity', bomb],
      ['x-gzip', bomb],
      ['zstd', bomb],
    ];
    for (const type of route.types) {
      for (const [encoding, body] of bodies) {
        const answer = await send(route, body, {
          'content-type': type === 'multipart/form-data' ? `${type}; boundary=x` : type,
          'content-encoding': encoding,
        });
        expect(codeOf(answer), `${type}, ${encoding}`).toBe('415 UNSUPPORTED_MEDIA_TYPE');
      }
    }
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(80_000_000);
    expect(await countRows(service.db)).toEqual(before);
  });
});

/** The answer to a request that asks to keep the connection, once the server has closed it. */
async function sendEndless(route: Route, path: string, headers: string[], feed: (socket: Socket) => () => void) {
  const socket = await openConnection(service.api.url);
  socket.on('error', () => undefined);
  const head = requestBytes(`${route.method} ${path}`, ['Transfer-Encoding: chunked', ...headers]).toString('latin1');
  socket.write(head.replace('Connection: close', 'Connection: keep-alive'));
  const stop = feed(socket);
  const answer = await readAnswer(socket).finally(stop);
  expectSafe(answer, route.name);
  return { name: route.name, code: codeOf(answer), connection: answer.headers.connection };
}

describe('a body that is too large and does not say so', () => {
  it('is refused before it ends, and the connection ends, on every route that takes one', async () => {
    const headers = ['Content-Type: application/json', 'Idempotency-Key: a123456789'];
    const feed = (socket: Socket) => {
      for (let sent = 0; sent <= 256; sent += 64) socket.write(`10000\r\n${' '.repeat(0x10000)}\r\n`);
      return () => undefined;
    };
    const routes = listJsonRoutes();
    const answers = await Promise.all(routes.map((route) => sendEndless(route, targetOf(route), headers, feed)));
    expect(answers).toEqual(routes.map(({ name }) => ({ name, code: '413 TOO_LARGE', connection: 'close' })));
    expect(await countRows(service.db)).toEqual(before);
  });

  it('is not read for ever by a route that wants none', async () => {
    const routes = listRoutes().filter(({ types, method }) => types.length === 0 && method !== 'GET');
    expect(routes.length).toBeGreaterThan(10);
    const feed = (socket: Socket) => {
      const feeding = setInterval(() => socket.write('1\r\n \r\n'), 20);
      return () => clearInterval(feeding);
    };
    const absent = { id: randomUUID(), email: 'nobody@example.com', line: '2', token: 'none' };
    const answers = await Promise.all(routes.map((route) => sendEndless(route, pathOf(route, absent), [], feed)));
    expect(answers.filter(({ code }) => !/^(404|415) /.test(code))).toEqual([]);
  });
});
