import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, type ExternalContext, printableKey } from '../../src/processors/define-operation.ts';
import {
  NothingHappened,
  type ProcessOutcome,
  rejected,
  retryLater,
  succeeded,
} from '../../src/processors/outcomes.ts';
import { claimRecords } from '../../src/store/records.ts';
import { eventually } from '../support/eventually.ts';
import { judge } from '../support/judge.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
/** What each call does, in order; and what each was given. */
type Outcome = ProcessOutcome<'INSUFFICIENT_FUNDS'>;
let script: ((context: ExternalContext) => Outcome | Promise<Outcome>)[] = [];
let calls: ExternalContext[] = [];

const create = (external: 'at-most-once' | 'at-least-once') =>
  defineOperation({
    name: `test.${external}`,
    rejects: ['INSUFFICIENT_FUNDS'],
    external,
    claim: 'first',
    request: z.strictObject({}),
    key: { required: true, pattern: printableKey },
    onMismatch: 'reject',
    replay: 'stored',
    process: async (_, context) => {
      calls.push(context);
      const step = script.shift();
      if (!step) throw new Error('one call more than expected');
      return await step(context);
    },
  });

beforeAll(async () => {
  service = await startTestService({
    operations: [create('at-most-once'), create('at-least-once')],
    environment: { RETRY_DELAYS_MS: '1,1', WAIT_SECONDS: '30', LOCK_DURATION_MS: '2000' },
  });
});

beforeEach(() => {
  calls = [];
});

afterAll(() => service.close());

const fail = (message: string) => () => {
  throw new Error(message);
};
const nothing = () => {
  throw new NothingHappened('connection refused');
};
const send = (policy: string, key: string = randomUUID()) =>
  service.api.post(`/v1/operations/test.${policy}`, {}, { key });
const recordOf = async (id: string) => (await service.api.get(`/v1/admin/idempotency/records/${id}`)).body;
const resolve = (id: string, body: unknown) => service.api.post(`/v1/admin/idempotency/records/${id}/resolve`, body);

/** A record that is UNKNOWN, and its key. */
async function makeUnknown() {
  script = [fail('the line went dead')];
  const key = randomUUID();
  const answer = await send('at-most-once', key);
  expect(answer).toMatchObject({ status: 500, body: { code: 'OUTCOME_UNKNOWN', effect: 'unknown' } });
  return { key, id: answer.body.operationId as string };
}

describe('at most once', () => {
  it('an answer is final and replayed', async () => {
    script = [() => succeeded(201, { paid: true }), () => rejected('INSUFFICIENT_FUNDS', 'Too little.')];
    const key = randomUUID();
    expect(await send('at-most-once', key)).toMatchObject({ status: 201, body: { paid: true } });
    expect((await send('at-most-once', key)).headers['idempotent-replayed']).toBe('true');
    expect(await send('at-most-once')).toMatchObject({ status: 422, body: { effect: 'not_applied' } });
    expect(calls).toHaveLength(2);
    expect(calls[0]?.effectKey).toBe(calls[0]?.record.id);
    await judge(service.db);
  });

  it('what throws is in doubt: it is not called again, neither by a retry nor by the same key', async () => {
    const { id, key } = await makeUnknown();
    expect((await send('at-most-once', key)).body.code).toBe('OUTCOME_UNKNOWN');
    expect(calls).toHaveLength(1);
    expect(await recordOf(id)).toMatchObject({ status: 'UNKNOWN', effect: 'unknown', attempts: 1, expiresAt: null });
    const health = (await service.api.get('/v1/admin/idempotency/health')).body;
    expect(health.status).toBe('degraded');
    expect(health.unknown).toBeGreaterThanOrEqual(1);
    const { items } = (await service.api.get('/v1/admin/idempotency/records/unknown')).body;
    expect(items.map((item: { id: string }) => item.id)).toContain(id);
    const reset = await service.api.post(`/v1/admin/idempotency/records/${id}/reset`, {});
    expect(reset).toMatchObject({ status: 409, body: { currentStatus: 'UNKNOWN' } });
    // The client is told that it is unknown, and not in which words the other system failed.
    const trail = await service.api.get(`/v1/operations/${id}/audit`);
    expect(trail.body.items.at(-1)).toMatchObject({ to: 'UNKNOWN', detail: { error: 'the line went dead' } });
    await judge(service.db);
  });

  it('what certainly did not happen is tried again, and fails after the last attempt', async () => {
    script = [nothing, () => retryLater(1), nothing, () => succeeded(200, { done: 1 })];
    expect(await send('at-most-once')).toMatchObject({ status: 200, body: { done: 1 } });
    expect(calls).toHaveLength(4);
    expect(new Set(calls.map((call) => call.effectKey)).size).toBe(1);
    script = [nothing, nothing, nothing];
    const failed = await send('at-most-once');
    expect(failed).toMatchObject({ status: 500, body: { code: 'OPERATION_FAILED', effect: 'not_applied' } });
    expect(await recordOf(failed.body.operationId)).toMatchObject({ status: 'FAILED', attempts: 3 });
    await judge(service.db);
  });

  it('a record that another worker has in hand is in doubt, and the late answer of that worker still counts', async () => {
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolveAsked) => {
      script = [
        async () => {
          resolveAsked();
          await new Promise<void>((reply) => {
            answer = reply;
          });
          return succeeded(201, { late: true }, { events: [{ type: 'test.paid', data: {} }] });
        },
      ];
    });
    const key = randomUUID();
    const first = send('at-most-once', key);
    await asked;
    const [call] = calls;
    const id = call?.record.id ?? '';
    const reset = await service.api.post(`/v1/admin/idempotency/records/${id}/reset`, {});
    expect(reset).toMatchObject({ status: 409, body: { currentStatus: 'PROCESSING' } });
    // No lock and no job is left, and a worker is still at it: the reconciler brings the job to another one.
    await loseRedis();
    await eventually(async () => expect((await recordOf(id)).status).toBe('UNKNOWN'), { timeoutMs: 30_000 });
    expect((await first).body.code).toBe('OUTCOME_UNKNOWN');
    answer();
    await eventually(async () => expect((await recordOf(id)).status).toBe('SUCCEEDED'));
    expect(await send('at-most-once', key)).toMatchObject({ status: 201, body: { late: true } });
    expect(calls).toHaveLength(1);
    const events = await service.db.selectFrom('events').select('type').where('record_id', '=', id).execute();
    expect(events).toEqual([{ type: 'test.paid' }]);
    await judge(service.db);
  });
});

describe('at least once', () => {
  it('what is in doubt is called again with the same key', async () => {
    script = [fail('timeout'), () => succeeded(200, { done: true })];
    expect((await send('at-least-once')).status).toBe(200);
    expect(new Set(calls.map((call) => call.effectKey)).size).toBe(1);
    expect(calls).toHaveLength(2);
  });

  it('and is unknown after the last attempt, even if that one certainly did nothing', async () => {
    script = [fail('timeout'), nothing, nothing];
    const answer = await send('at-least-once');
    expect(answer.body.code).toBe('OUTCOME_UNKNOWN');
    script = [nothing, nothing, nothing];
    expect((await send('at-least-once')).body.code).toBe('OPERATION_FAILED');
    await judge(service.db);
  });

  it('a claim that finds a worker gone counts as a doubt as well', async () => {
    script = [() => retryLater(600_000)];
    const key = randomUUID();
    await service.api.post('/v1/operations/test.at-least-once', {}, { key, headers: { prefer: 'respond-async' } });
    await eventually(() => expect(calls).toHaveLength(1));
    const id = calls[0]?.record.id ?? '';
    await eventually(async () => expect((await recordOf(id)).status).toBe('QUEUED'));
    await service.db.transaction().execute((tx) => claimRecords(tx, [id], 'a worker that dies'));
    script = [nothing, nothing, nothing];
    const reset = await service.api.post(`/v1/admin/idempotency/records/${id}/reset`, {});
    expect(reset.status).toBe(202);
    await eventually(async () => expect((await recordOf(id)).status).toBe('UNKNOWN'));
    await judge(service.db);
  });
});

describe('resolving', () => {
  it('as applied makes it succeed, once and for all', async () => {
    const { id, key } = await makeUnknown();
    const answer = await resolve(id, { outcome: 'applied', note: 'seen in their books' });
    expect(answer).toMatchObject({ status: 200, body: { id, status: 'SUCCEEDED', effect: 'applied' } });
    expect((await resolve(id, { outcome: 'applied' })).body).toEqual(answer.body);
    expect(await resolve(id, { outcome: 'not_applied' })).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE' },
    });
    const replay = await send('at-most-once', key);
    expect(replay).toMatchObject({ status: 200, body: { operationId: id, outcome: 'applied' } });
    expect(replay.headers['idempotency-expires']).toBeDefined();
    const { audit } = await recordOf(id);
    expect(audit.at(-1)).toMatchObject({ from: 'UNKNOWN', to: 'SUCCEEDED', detail: { note: 'seen in their books' } });
    expect(audit.at(-1).actor).toMatch(/^admin:default:/);
    expect(audit.filter((row: { from: string }) => row.from === 'UNKNOWN')).toHaveLength(1);
    expect(calls).toHaveLength(1);
    await judge(service.db);
  });

  it('as not applied makes it fail, tells its client, and the same key runs it again', async () => {
    const { id, key } = await makeUnknown();
    expect((await resolve(id, { outcome: 'not_applied' })).body).toMatchObject({ status: 'FAILED' });
    expect((await resolve(id, { outcome: 'not_applied' })).status).toBe(200);
    expect((await resolve(id, { outcome: 'applied' })).status).toBe(409);
    const events = await service.db.selectFrom('events').select('type').where('record_id', '=', id).execute();
    expect(events).toEqual([{ type: 'operation.failed' }]);
    const { items } = (await service.api.get('/v1/admin/dead-letters')).body;
    expect(items.find((item: { operationId: string }) => item.operationId === id)).toMatchObject({ retryable: true });
    script = [() => succeeded(200, { done: 2 })];
    expect(await send('at-most-once', key)).toMatchObject({ status: 200, body: { done: 2 } });
    // It has run again since: what was said before is no longer about what it is now.
    expect((await resolve(id, { outcome: 'not_applied' })).status).toBe(409);
    await judge(service.db);
  });

  it('by two at once, one contrary to the other, is decided once', async () => {
    const { id } = await makeUnknown();
    const answers = await Promise.all([resolve(id, { outcome: 'applied' }), resolve(id, { outcome: 'not_applied' })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await judge(service.db);
  });
});

/** Removes this file's keys from Redis, as a restart without a disk would, and makes the record look untouched. */
async function loseRedis(): Promise<void> {
  const redis = new Redis(service.environment.REDIS_URL ?? '');
  const keys = await redis.keys(`{${service.environment.REDIS_PREFIX}}:*`);
  if (keys.length > 0) await redis.del(keys);
  redis.disconnect();
  await sql`update records set updated_at = now() - interval '1 minute' where settled_at is null`.execute(service.db);
}
