import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Locks } from '../../src/store/locks.ts';
import { eventually } from '../support/eventually.ts';
import { allSettled } from '../support/judge.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let redis: Redis;
let prefix: string;

/** An API alone; each test brings the worker when it is wanted. */
beforeAll(async () => {
  service = await startTestService({ role: 'api', environment: { WAIT_SECONDS: '30' } });
  redis = new Redis(service.environment.REDIS_URL ?? '', { maxRetriesPerRequest: null });
  prefix = `{${service.environment.REDIS_PREFIX}}`;
});

afterAll(async () => {
  redis.disconnect();
  await service.close();
});

const later = { prefer: 'respond-async' };
const account = { owner: 'Ada', currency: 'EUR' };

async function withWorker(work: () => Promise<void>): Promise<void> {
  const worker = await startServiceOn(service, { role: 'worker' });
  try {
    await work();
  } finally {
    await worker.close();
  }
}

it('a job whose lock is held is put off and not run, and runs once the lock is free', async () => {
  const { body } = await service.api.post('/v1/accounts', account, { key: randomUUID(), headers: later });
  const lock = await new Locks(redis, prefix, 60_000).acquire([body.id]);
  if (lock === 'held') throw new Error('nobody else can hold it');
  const queue = new Queue('operations', { connection: redis, prefix });
  await withWorker(async () => {
    await eventually(async () => expect(await queue.getDelayedCount()).toBe(1));
    expect((await service.api.get(`/v1/operations/${body.id}`)).body).toMatchObject({ status: 'QUEUED', attempts: 0 });
    await lock.release();
    await allSettled(service.db);
  });
  expect((await service.api.get(`/v1/operations/${body.id}`)).body).toMatchObject({ status: 'SUCCEEDED', attempts: 1 });
  await queue.close();
});

it.each([
  ['/v1/accounts', account, '{"owner": 7}'],
  ['/v1/transfers', { fromAccountId: randomUUID(), toAccountId: randomUUID(), amount: 1 }, '{"amount": -5}'],
])('a stored request of %s that does not fit its operation is refused by the worker', async (path, request, stored) => {
  const { body } = await service.api.post(path, request, { key: randomUUID(), headers: later });
  await sql`update records set request = ${stored}::jsonb where id = ${body.id}::uuid`.execute(service.db);
  await withWorker(() => allSettled(service.db));
  const operation = (await service.api.get(`/v1/operations/${body.id}`)).body;
  expect(operation).toMatchObject({ status: 'REJECTED', error: { code: 'INVALID_REQUEST' }, effect: 'not_applied' });
});
