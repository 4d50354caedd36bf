import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectClientProblem, expectProblem } from './expectations.ts';
import { openConnection, readAnswer, requestBytes } from './raw-request.ts';

let service: TestService;
let transfer: { fromAccountId: string; toAccountId: string; amount: number };
let before: Record<string, number>;

beforeAll(async () => {
  service = await startTestService();
  const [fromAccountId, toAccountId] = await Promise.all([service.api.openAccount(1_000), service.api.openAccount(0)]);
  transfer = { fromAccountId, toAccountId, amount: 1 };
});

afterAll(() => service.close());

beforeEach(async () => {
  before = await countStored(service.db);
});

// Whatever was sent: nothing of it is kept, and a good request is answered as ever.
afterEach(async () => {
  expect(await countStored(service.db)).toEqual(before);
  expect((await service.api.post('/v1/transfers', transfer, { key: randomUUID() })).status).toBe(201);
});

const send = (body: string | Buffer, headers: Record<string, string> = {}) =>
  service.api.send('POST', '/v1/accounts', body, { key: randomUUID(), headers });

const good = '"owner":"Ada","currency":"EUR"';

describe('a body', () => {
  it.each([
    ['empty', ''],
    ['blank', ' \n'],
    ['no JSON', 'owner=Ada&currency=EUR'],
    ['cut off', `{${good}`],
    ['JSON with more behind it', `{${good}}{}`],
    ['with a comma too many', `{${good},}`],
    ['with a comment', `{${good}/**/}`],
    ['with single quotes', `{'owner':'Ada','currency':'EUR'}`],
    ['an array', `[{${good}}]`],
    ['null', 'null'],
    ['a string', '"Ada"'],
    ['a number', '1'],
    ['an empty object', '{}'],
    ['nested 100 000 levels deep', '['.repeat(100_000)],
    ['nested 100 000 levels deep and closed', `{"owner":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['nested 33 levels deep', `{${good},"a":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['with only quotes', '"'.repeat(9_999)],
    ['with a long run of backslashes', `{"owner":"${'\\'.repeat(99_999)}`],
    ['with NUL', '{"owner":"A\\u0000","currency":"EUR"}'],
    ['with NUL in a name', `{${good},"a\\u0000":1}`],
    ['with a raw NUL', '{"owner":"A\0","currency":"EUR"}'],
    ['with a raw line feed in a string', '{"owner":"A\n","currency":"EUR"}'],
    ['with half of a surrogate pair', '{"owner":"A\\ud83d","currency":"EUR"}'],
    ['with the halves of a pair in the wrong order', '{"owner":"\\ude00\\ud83d","currency":"EUR"}'],
    ['with a control character', '{"owner":"A\\u0007","currency":"EUR"}'],
    ['with a field of the wrong type', '{"owner":{},"currency":"EUR"}'],
    ['with an owner that is too long', `{"owner":"${'A'.repeat(201)}","currency":"EUR"}`],
    ['with a currency that is none', '{"owner":"Ada","currency":"eur"}'],
  ])('%s is refused', async (_name, body) => {
    expectProblem(await send(body), 400, 'INVALID_REQUEST');
  });

  it.each([
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ['Latin-1', Buffer.from('{"owner":"Zoë","currency":"EUR"}', 'latin1')],
    ['an overlong encoding', Buffer.concat([Buffer.from('{"owner":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')])],
    ['a surrogate in UTF-8', Buffer.concat([Buffer.from('"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"')])],
    ['UTF-16', Buffer.from(`{${good}}`, 'utf16le')],
    ['random bytes', Buffer.from('9f3c00ff1b7d22a0', 'hex')],
  ])('of %s is refused', async (_name, body) => {
    expectProblem(await send(body), 400, 'INVALID_REQUEST');
  });

  it.each([
    ['an unknown field', `{${good},"colour":1}`, ['colour']],
    ['two unknown fields', `{"a":1,${good},"b":2}`, ['a', 'b']],
    ['__proto__', `{${good},"__proto__":{"openingBalance":5}}`, ['__proto__']],
    ['constructor', `{${good},"constructor":{"prototype":{}}}`, ['constructor']],
    ['a field given twice', `{${good},"owner":"Bob"}`, ['owner']],
    ['a field given twice, once in disguise', `{${good},"own\\u0065r":"Bob"}`, ['owner']],
    ['a missing field', '{"owner":"Ada"}', ['currency']],
    ['two faults', '{"owner":7,"currency":"EUR","openingBalance":-1}', ['owner', 'openingBalance']],
  ])('with %s is refused, and the field is named', async (_name, body, paths) => {
    const answer = await send(body);
    expectProblem(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.errors.map(({ path }: { path: string }) => path)).toEqual(paths);
    for (const { message } of answer.body.errors) expect(message).toEqual(expect.any(String));
    for (const path of paths) expect(answer.body.detail).toContain(path);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'text/json', '', 'json'])(
    'of the type %j is refused',
    async (type) => {
      expectProblem(await send(`{${good}}`, { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    },
  );

  it('that is compressed is refused', async () => {
    const answer = await send(gzipSync(`{${good}}`), { 'content-encoding': 'gzip' });
    expectProblem(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('of any JSON or text is refused with a code, never with 500', async () => {
    const fields = fc.record(
      { owner: fc.jsonValue(), currency: fc.jsonValue(), openingBalance: fc.jsonValue(), x: fc.jsonValue() },
      { requiredKeys: ['x'] },
    );
    const text = fc.oneof(
      fc.json(),
      fields.map((value) => JSON.stringify(value)),
      fc.string({ unit: 'binary' }),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (body) => expectClientProblem(await send(body))),
      { numRuns: 300 },
    );
  });
});

describe('an amount', () => {
  it.each([
    ...['0', '-0', '-1', '1.5', '0.1', '1e-1', '1e400', '-1e400', '9007199254740992', '9007199254740993', '1e16'],
    ...[
      '0.99999999999999999999e0',
      '1.00000000000000000001e0',
      '100000000000000000001e-20',
      '1.00000000000000000001E+0',
    ],
    ...['9007199254740991.4', '1.00000000000000000001', '"1"', '""', 'true', 'null', '[]', '[1]', '{}', 'NaN'],
    ...['Infinity', '01', '+1', '0x1', '1_000', '1n', '.5', '1.', '--1', '99999999999999999999999999'],
  ])('of %s is refused', async (amount) => {
    const { fromAccountId, toAccountId } = transfer;
    const body = `{"fromAccountId":"${fromAccountId}","toAccountId":"${toAccountId}","amount":${amount}}`;
    const answer = await service.api.send('POST', '/v1/transfers', body, { key: randomUUID() });
    expectProblem(answer, 400, 'INVALID_REQUEST');
  });

  it.each(['openingBalance', 'overdraftLimit'])('%s of an account is held to the same rules', async (field) => {
    for (const value of ['-1', '1.5', '9007199254740992', '"1"', 'null', '1e400', '1e-400', '0.1e-400']) {
      expectProblem(await send(`{${good},"${field}":${value}}`), 400, 'INVALID_REQUEST');
    }
  });

  it.each(['1.0', '10e-1', '0.1e1', '1e0', '1.000000000000000000000', '0.01E+2'])(
    'of %s is 1, however it is written',
    async (amount) => {
      const body = JSON.stringify(transfer).replace('"amount":1', `"amount":${amount}`);
      const answer = await service.api.send('POST', '/v1/transfers', body, { key: randomUUID() });
      expect(answer.body.amount).toBe(1);
      before = await countStored(service.db);
    },
  );

  const isAmount = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;

  it('that is no safe positive integer is refused, whatever it is', async () => {
    const wrong = fc
      .oneof(fc.double(), fc.bigInt().map(String), fc.jsonValue(), fc.integer({ max: 0 }))
      .filter((value) => !isAmount(typeof value === 'string' ? Number(value) : value))
      .map((amount) => (typeof amount === 'string' && /^-?\d+$/.test(amount) ? amount : JSON.stringify(amount)));
    const property = fc.asyncProperty(wrong, async (amount) => {
      const body = JSON.stringify(transfer).replace('"amount":1', `"amount":${amount}`);
      const answer = await service.api.send('POST', '/v1/transfers', body, { key: randomUUID() });
      expectProblem(answer, 400, 'INVALID_REQUEST');
    });
    await fc.assert(property, { numRuns: 200 });
  });
});

describe('an account id in a body', () => {
  it.each(['', 'x', '0', '01a1edc0-a267-717f-80f3-84795ecfa04', "'; drop table accounts; --", '*', 'null', ' '])(
    '%j is refused',
    async (id) => {
      for (const field of ['fromAccountId', 'toAccountId']) {
        const answer = await service.api.post('/v1/transfers', { ...transfer, [field]: id }, { key: randomUUID() });
        expectProblem(answer, 400, 'INVALID_REQUEST');
        expect(answer.body.errors[0].path).toBe(field);
      }
    },
  );
});

describe('a body that is too large', () => {
  it.each([256 * 1024 + 1, 1_000_000, 20_000_000])('of %i bytes is refused', async (size) => {
    expectProblem(await send(Buffer.alloc(size, ' ')), 413, 'TOO_LARGE');
  });

  it('that does not say how large it is is refused as soon as it is', async () => {
    const socket = await openConnection(service.api.url);
    const headers = ['Transfer-Encoding: chunked', 'Content-Type: application/json', 'Idempotency-Key: a123456789'];
    socket.write(requestBytes('POST /v1/accounts', headers));
    // It never ends: the answer comes before the body does.
    for (let sent = 0; sent <= 256; sent += 64) socket.write(`10000\r\n${' '.repeat(0x10000)}\r\n`);
    expectProblem(await readAnswer(socket), 413, 'TOO_LARGE');
  });

  it('may come up to the limit', async () => {
    const answer = await send(`${' '.repeat(256 * 1024 - 2)}{}`);
    expectProblem(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.errors).toHaveLength(2);
  });
});

describe('a client that goes away', () => {
  it.each([
    ['in the middle of its body', ['Content-Length: 1000'], `{${good}`],
    ['in the middle of a chunk', ['Transfer-Encoding: chunked'], '10\r\n{"owner'],
    ['before its body', ['Content-Length: 1000'], ''],
  ])('%s harms nothing', async (_name, lines, body) => {
    const all = ['Content-Type: application/json', 'Idempotency-Key: a123456789', ...lines];
    for (let count = 0; count < 20; count += 1) {
      const socket = await openConnection(service.api.url);
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.write(requestBytes('POST /v1/accounts', all, body), resolve));
      if (count % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  });
});
