import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { retryLater, succeeded } from '../../src/processors/outcomes.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
const lockDurationMs = 501;
let pausesLeft = 0;

const base = {
  request: z.strictObject({}),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
} as const;

/** Holds its transaction idle for longer than Postgres allows. */
const tooSlow = defineOperation({
  ...base,
  name: 'test.too-slow',
  process: async () => {
    await pause(lockDurationMs * 2);
    return succeeded(200, {});
  },
});

const pausing = defineOperation({
  ...base,
  name: 'test.pausing',
  claim: 'first',
  process: async () => {
    pausesLeft -= 1;
    if (pausesLeft >= 0) return retryLater(5);
    throw new Error('now it fails');
  },
});

beforeAll(async () => {
  // An odd lock: half of it is not a whole number of milliseconds.
  const environment = { LOCK_DURATION_MS: String(lockDurationMs), RETRY_DELAYS_MS: '10,10', WAIT_SECONDS: '40' };
  service = await startTestService({ environment, operations: [tooSlow, pausing] });
});

afterAll(() => service.close());

it('work that is slower than its lock is given up after its attempts instead of running for ever', async () => {
  const answer = await service.api.post('/v1/operations/test.too-slow', {}, { key: randomUUID() });
  expect(answer.status).toBe(500);
  expect((await service.api.get(`/v1/operations/${answer.body.operationId}`)).body).toMatchObject({
    status: 'FAILED',
    attempts: 3,
  });
});

it('a pause that the operation asks for does not use up an attempt', async () => {
  pausesLeft = 6;
  const answer = await service.api.post('/v1/operations/test.pausing', {}, { key: randomUUID() });
  expect(answer.status).toBe(500);
  expect(pausesLeft).toBe(-3);
  expect((await service.api.get(`/v1/operations/${answer.body.operationId}`)).body).toMatchObject({
    status: 'FAILED',
    attempts: 3,
  });
});

it('a failed key that is sent again by many at once runs again once', async () => {
  pausesLeft = 0;
  const key = randomUUID();
  const send = () => service.api.post('/v1/operations/test.pausing', {}, { key });
  const first = await send();
  const id = first.body.operationId;
  await Promise.all(Array.from({ length: 20 }, send));
  const { body } = await service.api.get(`/v1/operations/${id}/audit`);
  const generations = body.items.filter((item: { from: string | null; to: string }) => item.from === 'FAILED');
  const letters = await service.db
    .selectFrom('dead_letters')
    .select('generation')
    .where('record_id', '=', id)
    .execute();
  // Whoever came after the second failure started a third generation; never two from one failure.
  expect(letters).toEqual([{ generation: generations.length + 1 }]);
  expect(new Set(generations.map((item: { detail: { generation: number } }) => item.detail.generation)).size).toBe(
    generations.length,
  );
});
