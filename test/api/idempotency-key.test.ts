import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';
import { postBytes, sendRaw } from './raw-request.ts';

let service: TestService;
let transfer: { fromAccountId: string; toAccountId: string; amount: number };

beforeAll(async () => {
  service = await startTestService();
  const [fromAccountId, toAccountId] = await Promise.all([service.api.openAccount(1_000), service.api.openAccount(0)]);
  transfer = { fromAccountId, toAccountId, amount: 1 };
});

afterAll(() => service.close());

const account = { owner: 'Ada', currency: 'EUR' };
const quote = (key: string) => `"${key.replace(/["\\]/g, '\\$&')}"`;

/** Undici checks header values itself, so these go over a bare socket, a character being a byte. */
const sendTransfer = (...keyLines: string[]) =>
  sendRaw(service.api.url, postBytes('/v1/transfers', keyLines, transfer));

describe('a well-formed key', () => {
  it('is the same bare and quoted', async () => {
    const key = randomUUID();
    const bare = await service.api.post('/v1/transfers', transfer, { key });
    const quoted = await service.api.post('/v1/transfers', transfer, { key: `"${key}"` });
    expect([bare.headers['idempotent-replayed'], quoted.headers['idempotent-replayed']]).toEqual(['false', 'true']);
    expect(quoted.text).toBe(bare.text);
    expect((await service.api.get(`/v1/operations/${bare.body.id}`)).body.key).toBe(key);
  });

  it('may have escapes when it is quoted', async () => {
    const key = `a "quoted" \\ key ${randomUUID()}`;
    const bare = await service.api.post('/v1/accounts', account, { key });
    const quoted = await service.api.post('/v1/accounts', account, { key: quote(key) });
    expect(bare.status).toBe(201);
    expect(quoted.headers['idempotent-replayed']).toBe('true');
    expect(quoted.body).toEqual(bare.body);
    expect((await service.api.get(`/v1/operations/${bare.body.id}`)).body.key).toBe(key);
  });

  it.each(['a'.repeat(10), 'Z'.repeat(64), '0123456789', '----------', '__________'])(
    '%s is taken for a transfer',
    async (key) => {
      expect((await service.api.post('/v1/transfers', transfer, { key })).status).toBe(201);
    },
  );

  it('of an account may hold anything printable, and no two are mixed up', async () => {
    const keys = [
      ...['a', 'A', 'a b', 'a  b', 'a/b', 'a:b', 'a::b', 'a%20b', 'a%2Fb', 'a%2fb', 'a=20b', 'a=2Fb', '%', '=', '~'],
      ...['a"b', 'a\\b', 'a\\"b', "a'b", 'a,b', 'a;b', 'a~b', 'a@b', '+', '0', '00', '1', '0:1', '~2', 'a~2', '{a}'],
      ...['x'.repeat(255), 'y'.repeat(255), '%'.repeat(255), '..', '../a', '*', '__proto__', 'null', 'undefined'],
    ];
    const answers = await Promise.all(keys.map((key) => service.api.post('/v1/accounts', account, { key })));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(keys.length);
    const replays = await Promise.all(
      keys.map((key) => service.api.post('/v1/accounts', account, { key: quote(key) })),
    );
    expect(replays.map(({ text }) => text)).toEqual(answers.map(({ text }) => text));
  });

  it('any two different printable keys are two accounts, and each one replays', async () => {
    const printable = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 255,
    });
    // Spaces around a bare header value belong to HTTP, hence all are quoted.
    const property = fc.asyncProperty(fc.uniqueArray(printable, { minLength: 2, maxLength: 8 }), async (keys) => {
      const headers = { 'x-client-id': randomBytes(8).toString('hex') };
      const open = (key: string) => service.api.post('/v1/accounts', account, { key: quote(key), headers });
      const ids = (await Promise.all(keys.map(open))).map(({ body }) => body.id);
      expect(new Set(ids).size).toBe(keys.length);
      expect((await Promise.all(keys.map(open))).map(({ body }) => body.id)).toEqual(ids);
    });
    await fc.assert(property, { numRuns: 25 });
  });
});

describe('a malformed key', () => {
  it.each([
    ['an empty one', ''],
    ['an empty quoted one', '""'],
    ['one that is too short', 'a'.repeat(9)],
    ['a quoted one that is too short', `"${'a'.repeat(9)}"`],
    ['one that is too long', 'a'.repeat(65)],
    ['a very long one', 'a'.repeat(8_000)],
    ['one with a space', 'a123456789 a'],
    ['one with a tab', 'a123456789\ta'],
    ['one with a slash', 'a123456789/'],
    ['one with a comma', 'a123456789,b123456789'],
    ['one in UTF-8', Buffer.from('schlüssel-0001').toString('latin1')],
    ['one in Latin-1', 'schlüssel-0001'],
    ['an unclosed quote', '"a123456789'],
    ['a quote at the end only', 'a123456789"'],
    ['a lone quote', '"'],
    ['garbage after the quotes', '"a123456789"x'],
    ['parameters after the quotes', '"a123456789";a=1'],
    ['two quoted strings', '"a123456789", "b123456789"'],
    ['an unescaped quote', '"a12345"6789"'],
    ['an escape of nothing', '"a123456789\\"'],
    ['an unknown escape', '"a12345\\n6789"'],
    ['single quotes', "'a123456789'"],
    ['DEL', 'a123456789\x7f'],
    ['a control character', 'a123456789\x01'],
    ['NUL', 'a123456789\0'],
    ['a bare carriage return', 'a123456789\rb'],
  ])('%s is refused and nothing is stored', async (_name, key) => {
    const before = await countStored(service.db);
    const answer = await sendTransfer(`Idempotency-Key: ${key}`);
    // What HTTP itself forbids never becomes a key.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is told apart here.
    const code = /[\0-\x08\x0a-\x1f\x7f]/.test(key) ? 'INVALID_REQUEST' : 'IDEMPOTENCY_KEY_INVALID';
    expectProblem(answer, 400, code);
    expect(await countStored(service.db)).toEqual(before);
  });

  it('sent twice is refused, even if both are the same', async () => {
    const before = await countStored(service.db);
    const lines = ['Idempotency-Key: a123456789', 'Idempotency-Key: a123456789'];
    expectProblem(await sendTransfer(...lines), 400, 'IDEMPOTENCY_KEY_INVALID');
    // Where commas are allowed in a key, the two could be taken for one.
    const answer = await sendRaw(service.api.url, postBytes('/v1/accounts', lines, account));
    expectProblem(answer, 400, 'IDEMPOTENCY_KEY_INVALID');
    expect(await countStored(service.db)).toEqual(before);
  });

  it('missing is refused with a code of its own', async () => {
    const before = await countStored(service.db);
    expectProblem(await service.api.post('/v1/transfers', transfer), 400, 'IDEMPOTENCY_KEY_REQUIRED');
    expectProblem(await service.api.post('/v1/accounts', account), 400, 'IDEMPOTENCY_KEY_REQUIRED');
    expect(await countStored(service.db)).toEqual(before);
  });

  it.each(['x'.repeat(256), 'ä', '\x7f'])('an account refuses %j', async (key) => {
    const before = await countStored(service.db);
    const answer = await sendRaw(service.api.url, postBytes('/v1/accounts', [`Idempotency-Key: ${key}`], account));
    expect([answer.status, typeof answer.body.code]).toEqual([400, 'string']);
    expect(await countStored(service.db)).toEqual(before);
  });

  it('of any bytes is 400 with a code, never 500, and nothing is stored', async () => {
    const isWellFormed = (key: string) => /^(?:[A-Za-z0-9_-]{10,64}|"[A-Za-z0-9_-]{10,64}")$/.test(key.trim());
    const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
    const nearMiss = fc.constantFrom(...'aZ09_-"\\ ,;=~:/\t\0\x7f\xff');
    const malformed = fc
      .oneof(fc.string({ unit: byte, maxLength: 80 }), fc.string({ unit: nearMiss, maxLength: 80 }))
      // A line feed ends the header line, and what follows is no longer the key.
      .filter((key) => !/[\r\n]/.test(key) && !isWellFormed(key));
    const before = await countStored(service.db);
    const property = fc.asyncProperty(malformed, async (key) => {
      const answer = await sendTransfer(`Idempotency-Key: ${key}`);
      expect([answer.status, answer.body?.code]).toEqual([
        400,
        expect.stringMatching(/^(IDEMPOTENCY_KEY_INVALID|INVALID_REQUEST)$/),
      ]);
    });
    await fc.assert(property, { numRuns: 300 });
    expect(await countStored(service.db)).toEqual(before);
  });
});
