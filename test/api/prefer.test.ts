import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../../src/processors/registry.ts';
import type { Answer } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';
import { createGatedOperation } from './gated-operation.ts';

const gated = createGatedOperation('test.gated', 'first');
let service: TestService;

beforeAll(async () => {
  // The longest wait there is: an answer that comes earlier came because of what the test did.
  const environment = { WAIT_SECONDS: '60' };
  service = await startTestService({ environment, operations: [...operations, gated.operation] });
});

afterAll(async () => {
  gated.openAll();
  await service.close();
});

/** Sends a request that stays in flight until `gated.open(key)`. */
const send = (key: string, prefer?: string, gate = key): Promise<Answer> =>
  service.api.post('/v1/operations/test.gated', { gate }, { key, ...(prefer && { headers: { prefer } }) });

const show = async (id: unknown) => (await service.api.get(`/v1/operations/${id}`)).body;

async function untilSucceeded(id: unknown) {
  return await eventually(async () => {
    const operation = await show(id);
    expect(operation.status).toBe('SUCCEEDED');
    return operation;
  });
}

function expectAccepted(answer: Answer): void {
  expect(answer.status, answer.text).toBe(202);
  expect(answer.headers.location).toBe(`/v1/operations/${answer.body.id}`);
  expect(answer.headers['operation-id']).toBe(answer.body.id);
  expect(answer.headers['content-type']).toBe('application/json');
  expect(answer.headers['idempotency-expires']).toBeUndefined();
}

describe.each(['respond-async', 'wait=0', 'respond-async, wait=0', 'Respond-Async', 'wait="0"'])(
  'Prefer: %s',
  (prefer) => {
    it('answers 202 with the operation while it is in flight', async () => {
      const key = randomUUID();
      const answer = await send(key, prefer);
      expectAccepted(answer);
      expect(answer.headers['preference-applied']).toBe(prefer.toLowerCase().replaceAll('"', ''));
      expect(answer.headers['idempotent-replayed']).toBe('false');
      expect(answer.body).toEqual({
        id: answer.headers['operation-id'],
        operation: 'test.gated',
        key,
        status: 'QUEUED',
        attempts: 0,
        replays: 0,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        expiresAt: null,
        effect: 'not_applied',
      });
      gated.open(key);
      const operation = await untilSucceeded(answer.body.id);
      expect(operation).toMatchObject({ attempts: 1, effect: 'applied', result: { passed: key } });
      expect(Date.parse(operation.expiresAt)).toBeGreaterThan(Date.parse(operation.createdAt));
    });

    it('answers with the result if there is one', async () => {
      const key = randomUUID();
      gated.open(key);
      const first = await send(key);
      expect(first.status).toBe(201);
      const replay = await send(key, prefer);
      expect([replay.status, replay.text]).toEqual([201, first.text]);
      expect(replay.headers['idempotent-replayed']).toBe('true');
    });

    it('answers a duplicate of something in flight with 202 and the same operation', async () => {
      const key = randomUUID();
      const first = await send(key, prefer);
      const second = await send(key, prefer);
      expectAccepted(second);
      expect(second.body.id).toBe(first.body.id);
      expect(second.headers['idempotent-replayed']).toBe('true');
      gated.open(key);
      await untilSucceeded(first.body.id);
    });
  },
);

describe('a result that comes after the deadline', () => {
  it('is told by GET and by a replay', async () => {
    const key = randomUUID();
    const first = await send(key, 'wait=1');
    expectAccepted(first);
    const second = await send(key, 'wait=1');
    expectAccepted(second);
    gated.open(key);
    const operation = await untilSucceeded(first.body.id);
    expect(operation.result).toEqual({ passed: key });
    const replay = await send(key);
    expect([replay.status, replay.body]).toEqual([201, { passed: key }]);
    expect(replay.headers['idempotent-replayed']).toBe('true');
    expect(replay.headers['operation-id']).toBe(first.body.id);
  });

  it('reaches those who wait longer, all with the same answer', async () => {
    const key = randomUUID();
    expectAccepted(await send(key, 'respond-async'));
    const waiting = Promise.all([send(key), send(key, 'wait=60'), send(key, 'handling=lenient')]);
    await eventually(async () => expect((await show((await send(key, 'wait=0')).body.id)).replays).toBeGreaterThan(3));
    gated.open(key);
    const answers = await waiting;
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [201, { passed: key }]));
    expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual(['true', 'true', 'true']);
  });
});

describe('Prefer: handling=strict', () => {
  it('refuses a duplicate of something in flight, and answers once it is done', async () => {
    const key = randomUUID();
    const first = await send(key, 'respond-async, handling=strict');
    expectAccepted(first);
    const refused = await send(key, 'handling=strict');
    expectProblem(refused, 409, 'OPERATION_IN_PROGRESS');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.headers['operation-id']).toBe(first.body.id);
    expect(refused.body).toMatchObject({ operationId: first.body.id, effect: 'unknown' });
    gated.open(key);
    await untilSucceeded(first.body.id);
    const replay = await send(key, 'handling=strict');
    expect([replay.status, replay.body]).toEqual([201, { passed: key }]);
  });

  it('does not hide that the request is another one', async () => {
    const key = randomUUID();
    const first = await send(key, 'respond-async');
    const other = await send(key, 'handling=strict', 'another gate');
    expectProblem(other, 422, 'INCONSISTENT_REQUEST');
    expect(other.body).toMatchObject({ operationId: first.body.id, differingFields: ['gate'] });
    gated.open(key);
    await untilSucceeded(first.body.id);
  });
});

describe('the header', () => {
  it.each(['wait', 'wait=', 'wait=-1', 'wait=61', 'wait=1.5', 'wait=abc', 'wait=1e1', 'wait=99999999999', 'wait=1=2'])(
    '%s is refused and nothing is stored',
    async (prefer) => {
      const before = await countStored(service.db);
      const answer = await send(randomUUID(), prefer);
      expectProblem(answer, 400, 'INVALID_REQUEST');
      expect(answer.body.errors).toEqual([{ path: 'Prefer', message: expect.any(String) }]);
      expect(await countStored(service.db)).toEqual(before);
    },
  );

  it.each([
    ['', undefined],
    [',;=,', undefined],
    ['return=minimal', undefined],
    ['x="wait=99, wait=abc", respond-async', 'respond-async'],
    ['handling=whatever', undefined],
    ['respond-async; x=1, y', 'respond-async'],
    // Of a preference given twice, the first one counts.
    ['wait=7, wait=abc', 'wait=7'],
    ['"', undefined],
  ])('%s is understood as far as it is known', async (prefer, applied) => {
    const key = randomUUID();
    gated.open(key);
    const answer = await send(key, prefer);
    expect(answer.headers['preference-applied']).toBe(applied);
    expect(answer.status).toBe(applied === 'respond-async' ? 202 : 201);
  });
});
