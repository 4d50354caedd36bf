import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { succeeded } from '../../src/processors/outcomes.ts';
import { operations } from '../../src/processors/registry.ts';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';

let service: TestService;
let runs = 0;

const base = {
  request: z.strictObject({ word: z.string(), counts: z.record(z.string(), z.number()).optional() }),
  key: { required: false, pattern: printableKey },
  replay: 'stored',
} as const;

const lenient = defineOperation({
  ...base,
  name: 'test.lenient',
  onMismatch: 'replay',
  process: async ({ word }) => {
    runs += 1;
    return succeeded(200, { word, run: runs });
  },
});

const failing = defineOperation({
  ...base,
  name: 'test.failing',
  onMismatch: 'reject',
  retryDelaysMs: [],
  process: async () => {
    throw new Error('connection to db-7.internal with password hunter2 failed');
  },
});

beforeAll(async () => {
  service = await startTestService({ operations: [...operations, lenient, failing] });
});

afterAll(() => service.close());

const send = (name: string, word: string, key?: string) =>
  service.api.post(`/v1/operations/${name}`, { word }, { key });

describe('an operation that replays for another request', () => {
  it('gives the original answer and says that it belongs to another request', async () => {
    const key = randomUUID();
    const first = await send('test.lenient', 'one', key);
    const same = await send('test.lenient', 'one', key);
    const other = await send('test.lenient', 'two', key);
    expect([first.status, same.text, other.text]).toEqual([200, first.text, first.text]);
    expect([first, same, other].map(({ headers }) => headers['idempotency-mismatch'])).toEqual([
      undefined,
      undefined,
      'true',
    ]);
    expect(other.headers['operation-id']).toBe(first.headers['operation-id']);
  });
});

describe('a request with fields that no schema puts in order', () => {
  it('is the same one however they are ordered', async () => {
    const key = randomUUID();
    const count = (counts: Record<string, number>) =>
      service.api.post('/v1/operations/test.lenient', { word: 'one', counts }, { key });
    const first = await count({ a: 1, b: 2, c: 3 });
    const same = await count({ c: 3, a: 1, b: 2 });
    const other = await count({ a: 3, b: 2, c: 1 });
    expect(first.status).toBe(200);
    expect([same, other].map(({ headers }) => headers['idempotency-mismatch'])).toEqual([undefined, 'true']);
  });
});

describe('an operation whose key is optional', () => {
  it('runs for every request that comes without one', async () => {
    const before = await countStored(service.db);
    const answers = [await send('test.lenient', 'one'), await send('test.lenient', 'one')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[0]?.body.run).not.toBe(answers[1]?.body.run);
    expect((await countStored(service.db)).records).toBe(Number(before.records) + 2);
    const { body } = await service.api.get(`/v1/operations/${answers[0]?.headers['operation-id']}`);
    expect([body.key, body.status]).toEqual([null, 'SUCCEEDED']);
  });

  it('refuses a malformed one all the same', async () => {
    expectProblem(await send('test.lenient', 'one', ''), 400, 'IDEMPOTENCY_KEY_INVALID');
  });
});

describe('an operation that fails', () => {
  it('answers 500 with a code, and tells nobody but operators of the inside, neither at once nor later', async () => {
    const apiKey = 'a-key-that-may-only-operate';
    await ensureApiKey(service.db, apiKey, { client: 'default', scopes: ['operate'] });
    const request = { word: 'one' };
    const answer = await service.api.post('/v1/operations/test.failing', request, { key: randomUUID(), apiKey });
    expectProblem(answer, 500, 'OPERATION_FAILED');
    expect(answer.body).toMatchObject({ operationId: answer.headers['operation-id'], effect: 'not_applied' });
    const path = `/v1/operations/${answer.headers['operation-id']}`;
    const shown = await service.api.get(path, { apiKey });
    expect(shown.body).toMatchObject({ status: 'FAILED', effect: 'not_applied', error: { code: 'OPERATION_FAILED' } });
    const audit = await service.api.get(`${path}/audit`, { apiKey });
    // Not even a hash of it, with which a guess could be confirmed.
    const hidden = { hash: null, prevHash: null };
    expect(audit.body.items.at(-1)).toMatchObject({ to: 'FAILED', detail: { attempt: 1 }, ...hidden });
    expect(audit.body.items[0]).toMatchObject(hidden);
    expect((await service.api.get(`${path}/audit`)).text).toContain('db-7.internal');
    for (const { text } of [answer, shown, audit]) expect(text).not.toMatch(/hunter2|db-7/);
  });
});

describe('a key', () => {
  it('stays free when the intake refuses its request', async () => {
    const key = randomUUID();
    const account = { owner: 'Ada', currency: 'EUR' };
    const post = (body: unknown, more = {}) => service.api.post('/v1/accounts', body, { key, ...more });
    const refusals = [
      await post({ owner: 'Ada' }),
      await post(account, { apiKey: 'nobody-has-this-key' }),
      await post({ ...account, owner: 'x'.repeat(300_000) }),
      await post(account, { headers: { 'content-type': 'text/plain' } }),
      await post(account, { headers: { prefer: 'wait=x' } }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([400, 401, 413, 415, 400]);
    const answer = await post(account);
    expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([201, 'false']);
  });
});
