import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';
import { type PrivateServer, startPrivateRedis } from '../support/stores.ts';

let redis: PrivateServer;
let stores: TestStores;

beforeAll(async () => {
  redis = await startPrivateRedis({ persistent: false });
  stores = await openTestStores({ REDIS_URL: redis.url, LOCK_DURATION_MS: '1500', WAIT_SECONDS: '20' });
});

afterAll(async () => {
  await redis.stop();
  await stores.close();
});

it('processes replaced one by one under load fail no request that a retry does not heal', async () => {
  let [api, worker] = await Promise.all([
    startProcess('api', stores.environment),
    startProcess('worker', stores.environment),
  ]);
  const accounts = { fromAccountId: await api.api.openAccount(10_000), toAccountId: await api.api.openAccount(0) };
  const keys: string[] = [];
  let isOver = false;
  // A client that tries again with the same key, wherever the API is by then.
  const send = async (key: string) =>
    await eventually(
      async () => {
        const answer = await api.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key });
        expect(answer.status).toBe(201);
      },
      { timeoutMs: 30_000, intervalMs: 50 },
    );
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const key = randomUUID();
      keys.push(key);
      await send(key);
    }
  });
  for (let round = 0; round < 2; round += 1) {
    const [oldApi, oldWorker] = [api, worker];
    worker = await startProcess('worker', stores.environment);
    expect(await oldWorker.stop()).toBe(0);
    api = await startProcess('api', stores.environment);
    expect(await oldApi.stop()).toBe(0);
  }
  isOver = true;
  await Promise.all(clients);
  await allSettled(stores.db);
  expect(keys.length).toBeGreaterThan(8);
  expect(await api.api.balanceOf(accounts.toAccountId)).toBe(keys.length);
  await judge(stores.db);
  expect(await Promise.all([api.stop(), worker.stop()])).toEqual([0, 0]);
});

it('with Redis away, SIGTERM still ends every process in order', async () => {
  const services = await Promise.all([
    startProcess('api', stores.environment),
    startProcess('worker', stores.environment),
  ]);
  await redis.kill();
  expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
});
