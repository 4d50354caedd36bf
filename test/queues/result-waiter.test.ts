import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ResultWaiter } from '../../src/queues/result-waiter.ts';
import { Results } from '../../src/store/results.ts';
import { createTransfers } from '../../src/store/transfers.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let redis: Redis;
let waiter: ResultWaiter;

/** An API without a worker: what it enqueues is settled by the test, which tells nobody. */
beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  redis = new Redis(service.environment.REDIS_URL ?? '');
  const results = new Results(redis, randomUUID(), 60);
  waiter = new ResultWaiter({
    db: service.db,
    subscriber: redis,
    results,
    instanceId: 'test',
    log: pino({ level: 'silent' }),
  });
});

afterAll(async () => {
  waiter.close();
  redis.disconnect();
  await service.close();
});

it.each(['waitFor', 'attachTo'] as const)(
  '%s finds the result in Postgres when the message of the worker is lost',
  async (how) => {
    const request = { fromAccountId: randomUUID(), toAccountId: randomUUID(), amount: 1 };
    const headers = { prefer: 'respond-async' };
    const { body } = await service.api.post('/v1/transfers', request, { key: randomUUID(), headers });
    const waiting = waiter[how](body.id, 20_000);
    await createTransfers(service.db, { ids: [body.id], actor: 'test', ttlSeconds: 60 });
    expect(await waiting).toMatchObject({ recordId: body.id, status: 'REJECTED' });
  },
);
