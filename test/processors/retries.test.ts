import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { rejected, retryLater, succeeded } from '../../src/processors/outcomes.ts';
import { insertAccount } from '../../src/store/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
/** What each operation does next, by the name in its request. */
const plans = new Map<string, ('fail' | 'reject' | 'later' | 'succeed')[]>();
const runs = new Map<string, number>();

/** Writes first and then does what the plan says, so that a failure has something to roll back. */
const planned = (name: string, claim: 'with-effect' | 'first') =>
  defineOperation({
    name,
    request: z.strictObject({ name: z.string() }),
    key: { required: true, pattern: printableKey },
    onMismatch: 'reject',
    replay: 'stored',
    claim,
    rejects: ['INSUFFICIENT_FUNDS'],
    process: async (request, { tx, record }) => {
      runs.set(request.name, (runs.get(request.name) ?? 0) + 1);
      const step = plans.get(request.name)?.shift();
      const account = { id: record.id, client: record.client, owner: request.name, currency: 'EUR' };
      await insertAccount(tx, { ...account, openingBalance: 0, overdraftLimit: 0 });
      if (step === 'fail') throw new Error('secret detail of the inside');
      if (step === 'later') return retryLater(10);
      if (step === 'reject') return rejected('INSUFFICIENT_FUNDS', 'no');
      return succeeded(201, { id: record.id });
    },
  });

beforeAll(async () => {
  service = await startTestService({
    environment: { RETRY_DELAYS_MS: '20,40', WAIT_SECONDS: '30' },
    operations: [planned('test.short', 'with-effect'), planned('test.long', 'first')],
  });
});

afterAll(() => service.close());

async function run(operation: string, steps: ('fail' | 'reject' | 'later' | 'succeed')[], name: string = randomUUID()) {
  plans.set(name, steps);
  return { name, answer: await service.api.post(`/v1/operations/${operation}`, { name }, { key: name }) };
}

async function countEffects(name: string): Promise<number> {
  const rows = await service.db.selectFrom('accounts').select('id').where('owner', '=', name).execute();
  return rows.length;
}

async function trailOf(id: string): Promise<string[]> {
  const { body } = await service.api.get(`/v1/operations/${id}/audit`);
  return body.items.map(
    (item: { from: string | null; to: string; epoch: number }) => `${item.from}>${item.to}@${item.epoch}`,
  );
}

it.each(['test.short', 'test.long'])('%s that fails twice succeeds on the third attempt, once', async (operation) => {
  const { name, answer } = await run(operation, ['fail', 'fail', 'succeed']);
  expect(answer.status).toBe(201);
  expect(runs.get(name)).toBe(3);
  expect(await countEffects(name)).toBe(1);
  const id = answer.headers['operation-id'] as string;
  expect((await service.api.get(`/v1/operations/${id}`)).body).toMatchObject({
    status: 'SUCCEEDED',
    attempts: 3,
    effect: 'applied',
  });
  expect(await trailOf(id)).toEqual([
    'null>QUEUED@0',
    'QUEUED>PROCESSING@1',
    'PROCESSING>QUEUED@1',
    'QUEUED>PROCESSING@2',
    'PROCESSING>QUEUED@2',
    'QUEUED>PROCESSING@3',
    'PROCESSING>SUCCEEDED@3',
  ]);
});

it.each(['test.short', 'test.long'])(
  '%s that always fails is FAILED with a dead letter, and its key runs it again',
  async (operation) => {
    const { name, answer } = await run(operation, ['fail', 'fail', 'fail']);
    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ code: 'OPERATION_FAILED', effect: 'not_applied' });
    expect(answer.text).not.toContain('secret');
    expect(await countEffects(name)).toBe(0);

    const id = answer.headers['operation-id'] as string;
    const letter = await service.db
      .selectFrom('dead_letters')
      .selectAll()
      .where('record_id', '=', id)
      .executeTakeFirstOrThrow();
    expect(letter).toMatchObject({
      operation,
      attempts: 3,
      generation: 1,
      error: { message: 'secret detail of the inside' },
    });
    await expectDeadLetterJob(operation, name);

    const again = await run(operation, ['succeed'], name);
    expect(again.answer.status).toBe(201);
    expect(again.answer.headers['operation-id']).toBe(id);
    expect(again.answer.headers['idempotent-replayed']).toBe('false');
    expect(await countEffects(name)).toBe(1);
    expect(await trailOf(id)).toContain('FAILED>QUEUED@3');
  },
);

it('a rejection is final at once, leaves no effect and replays', async () => {
  const { name, answer } = await run('test.short', ['reject']);
  expect(answer.status).toBe(422);
  const second = await run('test.short', ['succeed'], name);
  expect(second.answer.text).toBe(answer.text);
  expect(second.answer.headers['idempotent-replayed']).toBe('true');
  expect(runs.get(name)).toBe(1);
  expect(await countEffects(name)).toBe(0);
});

it.each(['test.short', 'test.long'])(
  '%s that asks for a pause comes back without leaving half an effect',
  async (operation) => {
    const { name, answer } = await run(operation, ['later', 'later', 'later', 'later', 'succeed']);
    expect(answer.status).toBe(201);
    expect(runs.get(name)).toBe(5);
    expect(await countEffects(name)).toBe(1);
  },
);

/** The outbox relay brings it within its two seconds. */
async function expectDeadLetterJob(operation: string, key: string): Promise<void> {
  const connection = new Redis(service.environment.REDIS_URL ?? '', { maxRetriesPerRequest: null });
  const queue = new Queue('dead-letters', { connection, prefix: `{${service.environment.REDIS_PREFIX}}` });
  const job = await eventually(async () => {
    const found = await queue.getJob(`${operation}~default~${key}`);
    if (!found) throw new Error('no dead-letter job yet');
    return found;
  });
  expect(job.data).toMatchObject({ error: { code: 'OPERATION_FAILED' } });
  await queue.close();
  connection.disconnect();
}
