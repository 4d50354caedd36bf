import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrateToLatest } from '../../src/store/migrate.ts';
import { testApiKey } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { scrape, sumOf } from '../support/metrics.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { testDataDir } from '../support/service.ts';
import { type PrivateServer, startPrivatePostgres, startPrivateRedis } from '../support/stores.ts';

let postgres: PrivateServer;
let redis: PrivateServer;
let service: ServiceProcess;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPrivatePostgres(), startPrivateRedis({ persistent: false })]);
  await migrateToLatest(postgres.url);
  service = await startProcess('all', {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    SEMEL_API_KEY: testApiKey,
    SEMEL_DATA_DIR: testDataDir(),
    PORT: '0',
  });
});

afterAll(async () => {
  await service.kill();
  await Promise.all([postgres.stop(), redis.stop()]);
});

const ofPostgres = ['idempotency_records', 'outbox_pending', 'dead_letters', 'invariant_ledger_imbalance'];
const ofRedis = ['queue_jobs', 'queue_workers', 'queue_oldest_waiting_seconds'];

/** Waits for a scrape in which just these stores are up. A scrape that hangs with a store ends the test. */
const scrapedWith = async (up: { postgres: number; redis: number }) =>
  await eventually(async () => {
    const text = await scrape(service.api);
    expect(sumOf(text, 'store_up', { store: 'postgres' })).toBe(up.postgres);
    expect(sumOf(text, 'store_up', { store: 'redis' })).toBe(up.redis);
    for (const name of ofPostgres) expect(sumOf(text, name) !== undefined, name).toBe(up.postgres === 1);
    for (const name of ofRedis) expect(sumOf(text, name) !== undefined, name).toBe(up.redis === 1);
    return text;
  });

/** A server and the processes that it has made, which answer for it. */
function signalAll(server: PrivateServer, signal: NodeJS.Signals): void {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && parentOf(entry) === server.pid());
  for (const pid of [server.pid(), ...pids.map(Number)]) process.kill(pid, signal);
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It ended while we looked.
    return undefined;
  }
}

it.each([
  {
    how: 'that hangs',
    leave: async (server: PrivateServer) => signalAll(server, 'SIGSTOP'),
    comeBack: async (server: PrivateServer) => signalAll(server, 'SIGCONT'),
  },
  {
    how: 'that is gone',
    leave: async (server: PrivateServer) => await server.kill(),
    comeBack: async (server: PrivateServer) => await server.start(),
  },
])('without a store $how, a scrape has what is known and not what nobody can know', async ({ leave, comeBack }) => {
  const account = await service.api.openAccount(5);
  const all = await scrapedWith({ postgres: 1, redis: 1 });
  expect(sumOf(all, 'invariant_ledger_imbalance')).toBe(0);
  const answered = sumOf(all, 'http_requests_total') ?? 0;

  await leave(redis);
  const withoutRedis = await scrapedWith({ postgres: 1, redis: 0 });
  expect(sumOf(withoutRedis, 'http_requests_total')).toBeGreaterThan(answered);
  await comeBack(redis);
  await scrapedWith({ postgres: 1, redis: 1 });

  await leave(postgres);
  const withoutPostgres = await scrapedWith({ postgres: 0, redis: 1 });
  expect(sumOf(withoutPostgres, 'http_requests_total')).toBeGreaterThan(answered);
  await comeBack(postgres);
  await scrapedWith({ postgres: 1, redis: 1 });
  await eventually(async () => expect(await service.api.balanceOf(account)).toBe(5));
});
