import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { type KyselyPlugin, sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAccount } from '../../src/processors/accounts/open-account.ts';
import { Enqueuer } from '../../src/queues/enqueue.ts';
import { Queues } from '../../src/queues/queues.ts';
import { ReplayCounter } from '../../src/queues/replay-counter.ts';
import { RequestCounter } from '../../src/queues/request-counter.ts';
import { Submitter } from '../../src/queues/submit.ts';
import { Results } from '../../src/store/results.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testMetrics } from '../support/metrics.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let redis: Redis;
const lines: { msg: string; requestId?: string; operationId?: string }[] = [];

beforeAll(async () => {
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  service = await startTestService({ log });
  redis = new Redis(service.environment.REDIS_URL ?? '');
});

afterAll(async () => {
  redis.disconnect();
  await service.close();
});

const prefix = () => `{${service.environment.REDIS_PREFIX}}`;
const account = { owner: 'Ada', currency: 'EUR' };

it('a replay is found in memory, else in Redis, else in Postgres', async () => {
  const key = randomUUID();
  const first = await service.api.post('/v1/accounts', account, { key });
  const other = await startServiceOn(service, { role: 'api' });
  const otherApi = new Api(other.url ?? '');
  const cacheKey = `${prefix()}:result:account.open~default~${key}`;

  // Only Postgres has it.
  await redis.del(cacheKey);
  const third = await startServiceOn(service, { role: 'api' });
  const thirdApi = new Api(third.url ?? '');
  expect((await thirdApi.post('/v1/accounts', account, { key })).text).toBe(first.text);
  // It was put into Redis on the way, and now only Redis has it for a process that never saw it.
  await sql`delete from records where key = ${key}`.execute(service.db);
  expect((await otherApi.post('/v1/accounts', account, { key })).text).toBe(first.text);
  // Only the memory of the first process has it.
  await redis.del(cacheKey);
  expect((await service.api.post('/v1/accounts', account, { key })).text).toBe(first.text);

  await Promise.all([otherApi.close(), thirdApi.close()]);
  await Promise.all([other.close(), third.close()]);
});

it('requests that arrive together share an insert and an addBulk', async () => {
  let inserts = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => {
      inserts += JSON.stringify(node).includes('submit_records') ? 1 : 0;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  let bulks = 0;
  class CountingQueues extends Queues {
    override async add(...args: Parameters<Queues['add']>): Promise<void> {
      bulks += 1;
      await super.add(...args);
    }
  }
  const log = pino({ level: 'silent' });
  const hitFailpoint = () => undefined;
  const metrics = testMetrics();
  const queues = new CountingQueues(redis, `{${randomUUID()}}`, () => undefined);
  const submitter = new Submitter({
    db: service.db.withPlugin(counting),
    results: new Results(redis, prefix(), 60),
    enqueuer: new Enqueuer({ db: service.db, queues, log, hitFailpoint, metrics }),
    log,
    hitFailpoint,
    instanceId: 'test',
    replayCounter: new ReplayCounter(service.db, log),
    requestCounter: new RequestCounter({ db: service.db, instanceId: randomUUID(), log }),
    metrics,
  });
  const submission = { client: 'grouped', subClient: '', operation: openAccount, request: account, awaited: false };
  const keys = Array.from({ length: 100 }, () => randomUUID());
  const submitted = await Promise.all(keys.map((key) => submitter.submit({ ...submission, key })));
  expect(new Set(submitted.map(({ recordId }) => recordId)).size).toBe(100);
  // The hundred look-ups in Redis come back in a handful of reads of the socket at most.
  expect(inserts).toBeLessThanOrEqual(10);
  expect(bulks).toBeLessThanOrEqual(10);
  await queues.close();
});

it('the log leads from a request to its operation and to its end', async () => {
  const requestId = randomUUID();
  const answer = await service.api.post('/v1/accounts', account, {
    key: randomUUID(),
    headers: { 'x-request-id': requestId },
  });
  const submitted = lines.find((line) => line.requestId === requestId);
  expect(submitted?.operationId).toBe(answer.body.id);
  // The worker's line comes after the answer: it has a lock to release first.
  await eventually(() => {
    const settled = lines.filter((line) => line.msg === 'operation settled');
    expect(settled.map((line) => line.operationId)).toContain(answer.body.id);
  });
});
