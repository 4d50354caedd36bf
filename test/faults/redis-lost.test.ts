import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';
import { type PrivateServer, startPrivateRedis } from '../support/stores.ts';

let redis: PrivateServer;
let stores: TestStores;
let api: ServiceProcess;
let accounts: { fromAccountId: string; toAccountId: string };

beforeEach(async () => {
  redis = await startPrivateRedis({ persistent: false });
  stores = await openTestStores({ REDIS_URL: redis.url, LOCK_DURATION_MS: '1500', WAIT_SECONDS: '20' });
  api = await startProcess('api', stores.environment);
  const worker = await startProcess('worker', stores.environment);
  accounts = { fromAccountId: await api.api.openAccount(10_000), toAccountId: await api.api.openAccount(0) };
  await worker.stop();
});

afterEach(async () => {
  await api.stop();
  await redis.stop();
  await stores.close();
});

const send = (key: string) => api.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key });

const sendMany = (count: number) => Promise.all(Array.from({ length: count }, () => send(randomUUID())));

it('with Redis away, requests are taken with 202 and run once it is back, empty', async () => {
  const worker = await startProcess('worker', stores.environment);
  const key = randomUUID();
  const before = await send(key);
  await redis.kill();

  const taken = await sendMany(50);
  expect(taken.map((answer) => answer.status)).toEqual(taken.map(() => 202));
  // What was answered before is answered from memory or Postgres.
  expect((await send(key)).text).toBe(before.text);
  expect((await api.api.get('/health')).body).toMatchObject({
    status: 'degraded',
    checks: { redis: { status: 'degraded' } },
  });
  expect((await api.api.get('/health/ready')).status).toBe(200);

  await redis.start();
  await allSettled(stores.db);
  expect(await api.api.balanceOf(accounts.toAccountId)).toBe(51);
  await eventually(async () => expect((await send(randomUUID())).status).toBe(201));
  await judge(stores.db);
  await worker.stop();
});

it('a Redis that hangs delays an answer but loses nothing', async () => {
  const worker = await startProcess('worker', stores.environment);
  process.kill(redis.pid(), 'SIGSTOP');
  const taken = await sendMany(20);
  expect(taken.map((answer) => answer.status)).toEqual(taken.map(() => 202));
  process.kill(redis.pid(), 'SIGCONT');
  await allSettled(stores.db);
  expect(await api.api.balanceOf(accounts.toAccountId)).toBe(20);
  await judge(stores.db);
  await worker.stop();
});
