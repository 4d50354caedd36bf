import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrateToLatest } from '../../src/store/migrate.ts';
import { testApiKey } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestDatabase, testDataDir } from '../support/service.ts';
import { type PrivateServer, startPrivatePostgres, testRedisPrefix, testRedisUrl } from '../support/stores.ts';

let postgres: PrivateServer;
let api: ServiceProcess;
let worker: ServiceProcess;

beforeAll(async () => {
  postgres = await startPrivatePostgres();
  await migrateToLatest(postgres.url);
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: testRedisPrefix(),
    SEMEL_API_KEY: testApiKey,
    SEMEL_DATA_DIR: testDataDir(),
    PORT: '0',
    LOCK_DURATION_MS: '1500',
  };
  [api, worker] = await Promise.all([startProcess('api', environment), startProcess('worker', environment)]);
});

afterAll(async () => {
  await Promise.all([api.stop(), worker.stop()]);
  await postgres.stop();
});

it('Postgres away is a 503 with Retry-After, and the service recovers without a restart', async () => {
  const accounts = { fromAccountId: await api.api.openAccount(1_000), toAccountId: await api.api.openAccount(0) };
  const send = (key: string) => api.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key });
  const keys = Array.from({ length: 30 }, () => randomUUID());

  const underWay = keys.map(send);
  await postgres.kill();
  const early = await Promise.all(underWay);
  const refused = await Promise.all(keys.map(send));
  expect(refused.filter((answer) => answer.status === 503).length).toBeGreaterThan(0);
  for (const answer of [...early, ...refused]) {
    expect([201, 202, 503]).toContain(answer.status);
    if (answer.status === 503)
      expect(answer).toMatchObject({ body: { code: 'UNAVAILABLE' }, headers: { 'retry-after': '1' } });
  }
  expect((await api.api.get('/health/ready')).status).toBe(503);
  expect((await api.api.get('/health')).body.checks.database.status).toBe('down');

  await postgres.start();
  const retried = await eventually(async () => {
    const answers = await Promise.all(keys.map(send));
    expect(answers.map((answer) => answer.status)).toEqual(keys.map(() => 201));
    return answers;
  });
  expect(new Set(retried.map((answer) => answer.body.id)).size).toBe(keys.length);
  expect(await api.api.balanceOf(accounts.toAccountId)).toBe(keys.length);
  const db = openTestDatabase(postgres.url);
  await allSettled(db);
  await judge(db);
  await db.destroy();
});

it('a Postgres that hangs is a 503 too, and what it took in after all runs once', async () => {
  const accounts = { fromAccountId: await api.api.openAccount(1_000), toAccountId: await api.api.openAccount(0) };
  const key = randomUUID();
  const send = () => api.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key });
  pauseAll('SIGSTOP');
  const answer = await send();
  pauseAll('SIGCONT');
  expect(answer.status).toBe(503);
  expect(answer.body).toMatchObject({ code: 'UNAVAILABLE', effect: 'unknown' });
  expect((await send()).status).toBe(201);
  expect(await api.api.balanceOf(accounts.toAccountId)).toBe(1);
});

/** Postgres is a process for each connection, all children of the one that we know. */
function pauseAll(signal: 'SIGSTOP' | 'SIGCONT'): void {
  const parent = postgres.pid();
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').map(Number);
  for (const pid of [parent, ...children]) process.kill(pid, signal);
}
