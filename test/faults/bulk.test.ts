import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrateToLatest } from '../../src/store/migrate.ts';
import { testApiKey } from '../support/api.ts';
import { type BulkAnswer, BulkStream, sendBulk, toLines } from '../support/bulk-stream.ts';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestDatabase, testDataDir } from '../support/service.ts';
import { type PrivateServer, startPrivatePostgres, testRedisPrefix, testRedisUrl } from '../support/stores.ts';

let postgres: PrivateServer;
let environment: Record<string, string>;
let worker: ServiceProcess;
let accounts: { fromAccountId: string; toAccountId: string };

beforeAll(async () => {
  postgres = await startPrivatePostgres();
  await migrateToLatest(postgres.url);
  environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: testRedisPrefix(),
    SEMEL_API_KEY: testApiKey,
    SEMEL_DATA_DIR: testDataDir(),
    PORT: '0',
    LOCK_DURATION_MS: '1500',
    RATE_LIMIT_PER_MINUTE: '0',
  };
  worker = await startProcess('worker', environment);
  const api = await startProcess('api', environment);
  accounts = { fromAccountId: await api.api.openAccount(1_000_000), toAccountId: await api.api.openAccount(0) };
  await api.stop();
});

afterAll(async () => {
  await worker.stop();
  await postgres.stop();
});

/** Thousands of transfers, on two cores that other tests use as well. */
const drainMs = 150_000;
const manyMs = { timeout: 240_000 };

const transfer = () => ({
  operation: 'transfer.create',
  key: `bulk-${randomUUID()}`,
  request: { ...accounts, amount: 1 },
});
const transfers = (count: number) => Array.from({ length: count }, transfer);

/** All of these keys, and no others, were settled and happened once. */
async function expectOnce(api: ServiceProcess, keys: readonly string[], before: number): Promise<void> {
  const db = openTestDatabase(postgres.url);
  try {
    await allSettled(db, drainMs);
    const rows = await db.selectFrom('records').select(['key', 'status']).where('key', 'in', keys).execute();
    expect(rows.filter(({ status }) => status === 'SUCCEEDED')).toHaveLength(keys.length);
    expect(await api.api.balanceOf(accounts.toAccountId)).toBe(before + keys.length);
    await judge(db);
  } finally {
    await db.destroy();
  }
}

/** Sends what has no good answer yet, again and again, as a client would. */
async function sendUntilTaken(url: string, lines: readonly { key: string }[]): Promise<void> {
  let left = [...lines];
  await eventually(
    async () => {
      const answers = await sendBulk(url, toLines(left)).catch((): BulkAnswer[] => []);
      const taken = new Set(answers.filter(({ operationId }) => operationId).map(({ key }) => key));
      left = left.filter(({ key }) => !taken.has(key));
      expect(left).toHaveLength(0);
    },
    { timeoutMs: 60_000 },
  );
}

it('with Postgres away in the middle, lines are unavailable, those after it are taken, and none is lost or doubled', async () => {
  const api = await startProcess('api', environment);
  const before = await api.api.balanceOf(accounts.toAccountId);
  const lines = transfers(300);
  const stream = new BulkStream(api.api.url);
  await stream.send(...lines.slice(0, 100));
  for (let line = 1; line <= 100; line += 1) expect(await stream.next()).toMatchObject({ line, created: true });
  await postgres.kill();
  await stream.send(...lines.slice(100, 200));
  const away: BulkAnswer[] = [];
  for (let line = 101; line <= 200; line += 1) away.push(await stream.next());
  expect(away.map(({ line, key, code }) => ({ line, key, code }))).toEqual(
    lines.slice(100, 200).map(({ key }, index) => ({ line: 101 + index, key, code: 'UNAVAILABLE' })),
  );
  await postgres.start();
  // The same stream goes on once Postgres is there.
  await eventually(async () => expect((await api.api.get('/health/ready')).status).toBe(200));
  await stream.send(...lines.slice(200));
  stream.request.end();
  expect(await stream.rest()).toHaveLength(100);
  await sendUntilTaken(api.api.url, lines);
  await expectOnce(
    api,
    lines.map(({ key }) => key),
    before,
  );
  await api.stop();
});

it(
  'an API that is killed under many lines has lost none that it acknowledged, and a second try doubles none',
  manyMs,
  async () => {
    const api = await startProcess('api', environment);
    const before = await api.api.balanceOf(accounts.toAccountId);
    const lines = transfers(4_000);
    const stream = new BulkStream(api.api.url);
    stream.request.end(toLines(lines));
    const acknowledged: string[] = [];
    for (;;) {
      const answer = await stream.next().catch(() => undefined);
      if (!answer) break;
      if (answer.created) acknowledged.push(answer.key);
      if (acknowledged.length === 1_000) api.signal('SIGKILL');
    }
    await api.exited;
    expect(acknowledged.length).toBeGreaterThanOrEqual(1_000);
    const db = openTestDatabase(postgres.url);
    const kept = await db.selectFrom('records').select('key').where('key', 'in', acknowledged).execute();
    await db.destroy();
    expect(kept).toHaveLength(acknowledged.length);
    const next = await startProcess('api', environment);
    await sendUntilTaken(next.api.url, lines);
    await expectOnce(
      next,
      lines.map(({ key }) => key),
      before,
    );
    await next.stop();
  },
);

it('SIGTERM ends the stream of somebody who sends slowly, and says from which line on nothing was taken', async () => {
  const api = await startProcess('api', environment);
  const stream = new BulkStream(api.api.url);
  await stream.send(transfer());
  expect(await stream.next()).toMatchObject({ line: 1, created: true });
  await stream.write('{"operation":"transfer');
  const stopped = api.stop();
  expect(await stream.next()).toMatchObject({ line: 2, key: null, code: 'UNAVAILABLE' });
  expect(await stream.next()).toBeUndefined();
  expect(await stopped).toBe(0);
});

it(
  'SIGTERM ends the stream of somebody who sends without a pause, and what was acknowledged is kept',
  manyMs,
  async () => {
    const api = await startProcess('api', environment);
    const before = await api.api.balanceOf(accounts.toAccountId);
    const stream = new BulkStream(api.api.url);
    const sent: { key: string }[] = [];
    let isOver = false;
    const sending = (async () => {
      while (!isOver) {
        const lines = transfers(100);
        sent.push(...lines);
        await stream.send(...lines);
      }
    })();
    const answers: BulkAnswer[] = [];
    let stopped: Promise<number | null> | undefined;
    for (;;) {
      const answer = await stream.next().catch(() => undefined);
      if (!answer) break;
      answers.push(answer);
      if (answers.length === 500) stopped = api.stop();
    }
    isOver = true;
    stream.destroy();
    await sending;
    expect(await stopped).toBe(0);
    const notice = answers.pop();
    expect(notice).toMatchObject({ line: answers.length + 1, key: null, code: 'UNAVAILABLE' });
    // On a busy machine a group may take too long; that is said, and is no acknowledgement.
    expect(answers.filter(({ created, code }) => !created && code !== 'UNAVAILABLE')).toEqual([]);
    expect(answers.map(({ key }) => key)).toEqual(sent.slice(0, answers.length).map(({ key }) => key));
    const db = openTestDatabase(postgres.url);
    const last = sent.slice(answers.length).map(({ key }) => key);
    expect(await db.selectFrom('records').select('key').where('key', 'in', last).execute()).toEqual([]);
    await db.destroy();
    const next = await startProcess('api', environment);
    await expectOnce(
      next,
      answers.map(({ key }) => key),
      before,
    );
    await next.stop();
  },
);

it('a client that reads no answers is not read either, and costs the server no memory', async () => {
  const api = await startProcess('api', environment);
  const before = readMemoryMb(api.pid);
  const stream = new BulkStream(api.api.url);
  await stream.status();
  // Two bytes in make eighty out: all of it would be two gigabytes of answers.
  const chunk = 'x\n'.repeat(32_768);
  const totalBytes = 50_000_000;
  let sentBytes = 0;
  let isOver = false;
  const sending = (async () => {
    for (; sentBytes < totalBytes && !isOver; sentBytes += chunk.length) await stream.write(chunk);
  })();
  // It has come to a stop when nothing more was taken for a second.
  for (let [last, same] = [-1, 0]; same < 10; await pause(100)) {
    same = last === sentBytes ? same + 1 : 0;
    last = sentBytes;
  }
  // What the kernel holds for both sides is a few megabytes.
  expect(sentBytes).toBeLessThan(totalBytes / 2);
  expect(readMemoryMb(api.pid) - before).toBeLessThan(150);
  // Others are served meanwhile.
  expect((await sendBulk(api.api.url, toLines([transfer()])))[0]).toMatchObject({ created: true });
  // And it does not keep the process from ending.
  expect(await api.stop()).toBe(0);
  isOver = true;
  stream.destroy();
  await sending;
});

it('a line without an end costs the server no memory, and the one after it is taken', async () => {
  const api = await startProcess('api', environment);
  const before = readMemoryMb(api.pid);
  const stream = new BulkStream(api.api.url);
  for (let count = 0; count < 3_000; count += 1) await stream.write('x'.repeat(65_536));
  expect(readMemoryMb(api.pid) - before).toBeLessThan(150);
  await stream.send('', transfer());
  stream.request.end();
  expect(await stream.rest()).toMatchObject([
    { line: 1, key: null, code: 'TOO_LARGE' },
    { line: 2, created: true },
  ]);
  expect(await api.stop()).toBe(0);
});

function readMemoryMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}
