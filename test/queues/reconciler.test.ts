import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { operationsQueue, Queues } from '../../src/queues/queues.ts';
import { Reconciler } from '../../src/queues/reconciler.ts';
import { openRedis, type RedisClient } from '../../src/store/redis.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let redis: RedisClient;
let queues: Queues;
let reconciler: Reconciler;

/** An API without a worker: what it enqueues stays in the queue. */
beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  const prefix = `{${service.environment.REDIS_PREFIX}}`;
  redis = openRedis(readConfig(service.environment), 'caller', () => undefined);
  queues = new Queues(redis, prefix, () => undefined);
  reconciler = new Reconciler({
    db: service.db,
    queues,
    redis,
    prefix,
    log: pino({ level: 'silent' }),
    hitFailpoint: () => undefined,
  });
  await eventually(() => expect(redis.status).toBe('ready'));
});

afterAll(async () => {
  await queues.close();
  redis.disconnect();
  await service.close();
});

async function enqueue(key: string = randomUUID()): Promise<string> {
  const body = { owner: 'Ada', currency: 'EUR' };
  const answer = await service.api.post('/v1/accounts', body, { key, headers: { prefer: 'respond-async' } });
  expect(answer.status).toBe(202);
  return `account.open~default~${key}`;
}

/** The reconciler leaves young records alone; these are made to look old. */
async function age(): Promise<void> {
  await sql`update records set updated_at = now() - interval '1 minute'`.execute(service.db);
}

const jobOf = async (jobId: string) => await queues.get(operationsQueue).getJob(jobId);

it('a record whose job Redis lost is put back, and others are left alone', async () => {
  const [lost, kept] = [await enqueue(), await enqueue()];
  const keptSince = (await jobOf(kept))?.timestamp;
  await queues.get(operationsQueue).remove(lost);
  expect(await reconciler.reconcile()).toBe(0);
  await age();
  expect(await reconciler.reconcile()).toBe(1);
  expect((await jobOf(lost))?.data).toHaveProperty('recordId');
  expect((await jobOf(kept))?.timestamp).toBe(keptSince);
  expect(await reconciler.reconcile()).toBe(0);
});

it('a record that waits for its next attempt is put back with what is left of its pause', async () => {
  const jobId = await enqueue();
  await queues.get(operationsQueue).remove(jobId);
  await age();
  await sql`update records set next_attempt_at = now() + interval '1 hour'
    where key = ${jobId.split('~')[2]}`.execute(service.db);
  await reconciler.reconcile();
  expect(await (await jobOf(jobId))?.getState()).toBe('delayed');
});

it('a job that BullMQ holds to be finished does not swallow its record', async () => {
  const jobId = await enqueue();
  const queue = queues.get(operationsQueue);
  // As if a worker had ended the job and the record had been rolled back.
  await redis.hset(queue.toKey(jobId), 'finishedOn', Date.now());
  await age();
  expect(await reconciler.reconcile()).toBe(1);
  expect((await jobOf(jobId))?.finishedOn).toBeUndefined();
});

it('a backlog longer than one round is walked through, at once after a loss', async () => {
  await sql`
    insert into records (id, client, sub_client, operation, key, fingerprint, request, status, updated_at)
    select gen_random_uuid(), 'default', '', 'account.open', 'backlog-' || n, 'f', '{}', 'QUEUED', now() - interval '1 minute'
    from generate_series(1, 7000) n`.execute(service.db);
  // The marker tells that Redis lost what it had.
  await redis.del(`{${service.environment.REDIS_PREFIX}}:has-jobs`);
  expect(await reconciler.reconcile()).toBe(7_000);
  expect(await reconciler.reconcile()).toBe(0);
});
