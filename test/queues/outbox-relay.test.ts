import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { relayOutbox } from '../../src/queues/outbox-relay.ts';
import { Queues } from '../../src/queues/queues.ts';
import { openRedis, type RedisClient } from '../../src/store/redis.ts';
import { eventually } from '../support/eventually.ts';
import { testMetrics } from '../support/metrics.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;
let redis: RedisClient;
let queues: Queues;
const log = pino({ level: 'silent' });

beforeAll(async () => {
  stores = await openTestStores();
  redis = openRedis(readConfig(stores.environment), 'caller', () => undefined);
  queues = new Queues(redis, `{${stores.environment.REDIS_PREFIX}}`, () => undefined);
  await eventually(() => expect(redis.status).toBe('ready'));
});

beforeEach(async () => {
  await stores.db.deleteFrom('outbox').execute();
});

afterAll(async () => {
  await queues.close();
  redis.disconnect();
  await stores.close();
});

const relay = (more: Partial<Parameters<typeof relayOutbox>[0]> = {}) =>
  relayOutbox({
    db: stores.db,
    queues,
    isRedisReady: () => redis.status === 'ready',
    log,
    hitFailpoint: () => undefined,
    metrics: testMetrics(),
    ...more,
  });

async function addRows(queue: string, jobIds: readonly string[]): Promise<void> {
  const rows = jobIds.map((jobId) => ({
    id: uuidv7(),
    queue,
    name: 'test',
    job_id: jobId,
    data: '{}',
    next_attempt_at: sql<Date>`now() - interval '1 second'`,
  }));
  await stores.db.insertInto('outbox').values(rows).execute();
}

async function countJobs(name: string): Promise<number> {
  return await queues.get(name).getWaitingCount();
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => `job-${index}`);

it('a poison row among 1 000 is set aside and holds nobody up', async () => {
  // BullMQ refuses an id with a colon.
  await addRows('poison', [...ids(500), 'bad:id', ...ids(1_000).slice(500)]);
  await relay();
  expect(await countJobs('poison')).toBe(1_000);
  const stays = await stores.db.selectFrom('outbox').selectAll().execute();
  expect(stays).toMatchObject([
    { job_id: 'bad:id', attempts: 1, quarantined_at: null, last_error: expect.stringContaining(':') },
  ]);

  for (let attempt = 2; attempt <= 8; attempt += 1) {
    await stores.db
      .updateTable('outbox')
      .set({ next_attempt_at: new Date(0) })
      .execute();
    await relay();
  }
  const row = await stores.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow();
  expect(row.quarantined_at).not.toBeNull();
  await stores.db
    .updateTable('outbox')
    .set({ next_attempt_at: new Date(0) })
    .execute();
  await relay();
  expect((await stores.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow()).attempts).toBe(8);
});

it('many relays at once bring each row once', async () => {
  await addRows('many', ids(2_000));
  const moved = await Promise.all(Array.from({ length: 8 }, () => relay()));
  expect(moved.reduce((total, count) => total + count, 0)).toBe(2_000);
  expect(await countJobs('many')).toBe(2_000);
  expect(await stores.db.selectFrom('outbox').selectAll().execute()).toEqual([]);
});

it('a relay that dies after enqueueing leaves rows that come back, and BullMQ knows them already', async () => {
  await addRows('dies', ids(10));
  const die = (name: string) => {
    if (name === 'relay.enqueued') throw new Error('killed');
  };
  await expect(relay({ hitFailpoint: die })).rejects.toThrow('killed');
  expect(await stores.db.selectFrom('outbox').selectAll().execute()).toHaveLength(10);
  await stores.db
    .updateTable('outbox')
    .set({ next_attempt_at: new Date(0) })
    .execute();
  await relay();
  expect(await countJobs('dies')).toBe(10);
  expect(await stores.db.selectFrom('outbox').selectAll().execute()).toEqual([]);
});

it('a transaction that commits late is not skipped', async () => {
  await stores.db.transaction().execute(async (tx) => {
    await tx
      .insertInto('outbox')
      .values({
        id: uuidv7(),
        queue: 'late',
        name: 'test',
        job_id: 'early-id',
        data: '{}',
        next_attempt_at: new Date(0),
      })
      .execute();
    await addRows('late', ['later-id']);
    expect(await relay()).toBe(1);
  });
  expect(await relay()).toBe(1);
  expect(await countJobs('late')).toBe(2);
});

it.each([
  'Command timed out',
  "OOM command not allowed when used memory > 'maxmemory'.",
  'LOADING Redis is loading the dataset in memory',
])('a Redis that says "%s" however often sets no row aside', async (message) => {
  await addRows('unwell', ids(3));
  class UnwellQueues extends Queues {
    override add(): Promise<void> {
      return Promise.reject(new Error(message));
    }
  }
  const unwell = new UnwellQueues(redis, '{unwell}', () => undefined);
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await stores.db
      .updateTable('outbox')
      .set({ next_attempt_at: new Date(0) })
      .execute();
    expect(await relay({ queues: unwell })).toBe(0);
  }
  const rows = await stores.db.selectFrom('outbox').select(['attempts', 'quarantined_at']).execute();
  expect(rows).toEqual(ids(3).map(() => ({ attempts: 0, quarantined_at: null })));
});

it('while Redis is away no row loses an attempt', async () => {
  await addRows('away', ids(5));
  expect(await relay({ isRedisReady: () => false })).toBe(0);
  const rows = await stores.db.selectFrom('outbox').select('attempts').execute();
  expect(rows.map((row) => row.attempts)).toEqual([0, 0, 0, 0, 0]);
});
