import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectClientProblem, expectProblem } from './expectations.ts';
import { requestBytes, sendRaw } from './raw-request.ts';

let service: TestService;
let accountId: string;
let before: Record<string, number>;

beforeAll(async () => {
  service = await startTestService();
  accountId = await service.api.openAccount(1);
  before = await countStored(service.db);
});

// Nothing in this file may leave a trace, and the service goes on.
afterAll(async () => {
  expect(await countStored(service.db)).toEqual(before);
  expect(await service.api.openAccount(1)).toEqual(expect.any(String));
  await service.close();
});

const get = (target: string) => sendRaw(service.api.url, requestBytes(`GET ${target}`, []));

const base64url = (text: string) => Buffer.from(text).toString('base64url');

describe('an id', () => {
  const routes = [
    '/v1/accounts/{id}',
    '/v1/accounts/{id}/movements',
    '/v1/transfers/{id}',
    '/v1/operations/{id}',
    '/v1/operations/{id}/audit',
  ];
  const malformed = [
    ...['0', 'x', '-1', '%00', '%', '%zz', '%ff', '%20', '..%2f..', '..%2F..%2Fhealth', '*', 'null', 'undefined'],
    ...["'%3B%20drop%20table%20records%3B--", '01a1edc0-a267-717f-80f3-84795ecfa04', '%F0%9F%98%80', '__proto__'],
    ...[`${uuidv7()}%00`, `%7B${uuidv7()}%7D`, uuidv7().replaceAll('-', ''), `${uuidv7()}x`, 'x'.repeat(10_000)],
  ];

  it.each(routes)('that is malformed is not found at %s', async (route) => {
    for (const id of malformed) expectProblem(await get(route.replace('{id}', id)), 404, 'NOT_FOUND');
  });

  it('of any characters is not found', async () => {
    const property = fc.asyncProperty(fc.constantFrom(...routes), fc.string({ unit: 'binary' }), async (route, id) => {
      const segment = encodeURIComponent(id.toWellFormed());
      // An empty segment, `.` and `..` make another route.
      fc.pre(!/^\.{0,2}$/.test(segment));
      expectProblem(await service.api.get(route.replace('{id}', segment)), 404, 'NOT_FOUND');
    });
    await fc.assert(property, { numRuns: 200 });
  });
});

describe('a query', () => {
  const lists = () => ['/v1/operations', `/v1/accounts/${accountId}/movements`];

  it.each(['0', '201', '-1', 'abc', '', '1.5', '1e2', ' 1', '+1', '0x10', '99999999999999999999', '٣', '1%00'])(
    'with the limit %j is refused',
    async (limit) => {
      for (const list of lists()) {
        const answer = await get(`${list}?limit=${encodeURI(limit)}`);
        expectProblem(answer, 400, 'INVALID_REQUEST');
        expect(answer.body.errors[0].path).toBe('limit');
      }
    },
  );

  it.each([
    ...['', 'abc', '!!!', '%00', 'null', base64url(''), base64url('x'), base64url('-1'), base64url('1.5'), '====='],
    ...[base64url("' or 1=1"), base64url('9'.repeat(16)), base64url('\0'), `${base64url('7')}!`, 'x'.repeat(9_000)],
    ...[Buffer.from(`${uuidv7()}~`).toString('base64url'), `${base64url(uuidv7())}%2B`],
  ])('with the cursor %j is refused', async (cursor) => {
    for (const list of lists()) {
      const answer = await get(`${list}?cursor=${cursor}`);
      expectProblem(answer, 400, 'INVALID_REQUEST');
      expect(answer.body.errors[0].path).toBe('cursor');
    }
  });

  it('with the cursor of another list is refused', async () => {
    expectProblem(await get(`/v1/operations?cursor=${base64url('12')}`), 400, 'INVALID_REQUEST');
    const movements = `/v1/accounts/${accountId}/movements?cursor=${base64url(uuidv7())}`;
    expectProblem(await get(movements), 400, 'INVALID_REQUEST');
  });

  it.each(['colour=red', '__proto__=1', 'constructor=1', 'Limit=1', 'status=SUCCEEDED&Status=FAILED', 'limit[]=1'])(
    'with the unknown parameter in %s is refused, and it is named',
    async (query) => {
      const answer = await get(`/v1/operations?${query}`);
      expectProblem(answer, 400, 'INVALID_REQUEST');
      expect(query).toContain(answer.body.errors[0].path);
    },
  );

  it.each([
    ['status', 'succeeded'],
    ['status', 'DONE'],
    ['status', ''],
    ['key', '%00'],
    ['key', 'x'.repeat(256)],
    ['operation', 'a%00b'],
    ['operation', 'x'.repeat(101)],
  ])('with the filter %s=%s is refused', async (name, value) => {
    const answer = await get(`/v1/operations?${name}=${value}`);
    expectProblem(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.errors[0].path).toBe(name);
  });

  it('of any characters is never answered with 500', async () => {
    const parameter = fc.tuple(fc.constantFrom('limit', 'cursor', 'status', 'operation', 'key', 'x'), fc.string());
    const property = fc.asyncProperty(fc.array(parameter, { minLength: 1, maxLength: 4 }), async (parameters) => {
      const answer = await service.api.get(`/v1/operations?${new URLSearchParams(parameters)}`);
      if (answer.status !== 200) expectProblem(answer, 400, 'INVALID_REQUEST');
    });
    await fc.assert(property, { numRuns: 200 });
  });
});

describe('a route', () => {
  it.each([
    ...['GET /', 'GET /v1', 'GET /v1/', 'GET /v2/accounts', 'GET /v1/accounts', 'GET /v1/transfers', 'GET //'],
    ...['GET /v1/account', 'GET /V1/operations', 'GET /v1/operations/', 'GET /v1/../../etc/passwd', 'GET /%2e%2e/'],
    ...['DELETE /v1/accounts', 'PUT /v1/transfers', 'PATCH /health', 'OPTIONS /v1/accounts', 'TRACE /v1/operations'],
    ...['POST /health', 'POST /v1/operations', 'POST /v1/operations/no.such', 'POST /v1/operations/__proto__'],
    ...['POST /v1/operations/%00', 'PROPFIND /v1/accounts', 'GET /.env', 'GET /v1/%ff', 'GET /%', 'GET /health/x'],
  ])('that does not exist is not found: %s', async (startLine) => {
    expectProblem(await sendRaw(service.api.url, requestBytes(startLine, [])), 404, 'NOT_FOUND');
  });

  it.each([
    ['a backslash', 'GET /v1\\operations', []],
    ['no slash at the beginning', 'GET v1/operations', []],
    ['an asterisk', 'GET *', []],
    ['a URL without a host', 'GET http://', []],
    ['an unknown method', 'FETCH /v1/operations', []],
    ['a small method', 'get /v1/operations', []],
    ['spaces in the target', 'GET /v1/ operations', []],
    ['a header without a colon', 'GET /v1/operations', ['X-Broken']],
    ['a space in a header name', 'GET /v1/operations', ['X Broken: 1']],
    ['two lengths', 'POST /v1/accounts', ['Content-Length: 1', 'Content-Length: 2']],
    ['a length and chunks', 'POST /v1/accounts', ['Content-Length: 1', 'Transfer-Encoding: chunked']],
    ['a length that is no number', 'POST /v1/accounts', ['Content-Length: x']],
    ['a negative length', 'POST /v1/accounts', ['Content-Length: -1']],
  ])('asked for with %s is refused', async (_name, startLine, lines) => {
    expectClientProblem(await sendRaw(service.api.url, requestBytes(startLine, lines)));
  });

  it.each([
    ['address', `GET /v1/accounts/${'x'.repeat(200_000)}`, []],
    ['header', 'GET /v1/operations', [`X-Long: ${'x'.repeat(200_000)}`]],
    ['list of headers', 'GET /v1/operations', Array.from({ length: 5_000 }, (_, index) => `X-${index}: 1`)],
  ])('asked for with a very long %s is refused', async (_name, startLine, lines) => {
    expectProblem(await sendRaw(service.api.url, requestBytes(startLine, lines)), 413, 'TOO_LARGE');
  });

  it('bytes that are not HTTP are refused', async () => {
    for (const text of ['\x16\x03\x01\0\xa5\x01\0', 'hello\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', '\0\0\0\0\r\n\r\n']) {
      const answer = await sendRaw(service.api.url, Buffer.from(text, 'latin1'));
      expectProblem(answer, 400, 'INVALID_REQUEST');
      expect(answer.headers.connection).toBe('close');
    }
  });

  it('a request without a valid Host is refused', async () => {
    for (const line of ['X-No-Host: 1', 'Host:', 'Host: a b', 'Host: [', 'Host: a/b', 'Host: \xff']) {
      const bytes = Buffer.from(`GET /health/live HTTP/1.1\r\n${line}\r\nConnection: close\r\n\r\n`, 'latin1');
      expectProblem(await sendRaw(service.api.url, bytes), 400, 'INVALID_REQUEST');
    }
  });

  it('an expectation that nobody knows is ignored', async () => {
    const answer = await sendRaw(service.api.url, requestBytes('GET /v1/operations', ['Expect: wonders']));
    expect(answer.status).toBe(200);
  });
});
