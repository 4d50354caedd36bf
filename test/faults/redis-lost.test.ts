import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
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

const send = (key: string, prefer?: string) =>
  api.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key, ...(prefer && { headers: { prefer } }) });

const sendMany = (count: number, prefer?: string) =>
  Promise.all(Array.from({ length: count }, () => send(randomUUID(), prefer)));

it('a FLUSHALL with work queued loses nothing and doubles nothing', async () => {
  const queued = await sendMany(200, 'respond-async');
  expect(queued.map((answer) => answer.status)).toEqual(queued.map(() => 202));
  await flushAll();
  const worker = await startProcess('worker', stores.environment);
  await allSettled(stores.db);
  expect(await api.api.balanceOf(accounts.toAccountId)).toBe(200);
  await judge(stores.db);
  await worker.stop();
});

it('FLUSHALLs under load lose nothing, and those who wait get their answers', async () => {
  const worker = await startProcess('worker', stores.environment);
  const sending = sendMany(300);
  await eventually(async () => expect(await api.api.balanceOf(accounts.toAccountId)).toBeGreaterThan(0), {
    intervalMs: 1,
  });
  await flushAll();
  const answers = [...(await sending), ...(await sendMany(50))];
  expect(answers.every((answer) => answer.status === 201 || answer.status === 202)).toBe(true);
  await allSettled(stores.db);
  expect(await api.api.balanceOf(accounts.toAccountId)).toBe(350);
  await judge(stores.db);
  await worker.stop();
});

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

async function flushAll(): Promise<void> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}
