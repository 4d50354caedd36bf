import { randomInt, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { findFreePort } from '../../scripts/embedded/free-port.ts';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { countsIn, startBulk } from '../support/run-bulk.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

const rowCount = 5_000;
/** Thousands of transfers and some starts of processes, on two cores that other tests use as well. */
const manyMs = { timeout: 300_000 };
const drainMs = 200_000;

let stores: TestStores;
let api: ServiceProcess;
let worker: ServiceProcess;
let accounts: [from: string, to: string];

beforeAll(async () => {
  stores = await openTestStores({ PORT: String(await findFreePort()), RATE_LIMIT_PER_MINUTE: '0' });
  api = await startProcess('api', stores.environment);
  worker = await startProcess('worker', { ...stores.environment, PORT: '0' });
  accounts = [await api.api.openAccount(1_000_000), await api.api.openAccount(0)];
});

afterAll(async () => {
  await Promise.all([api.stop(), worker.stop()]);
  await stores.close();
});

function writeTransfers(): { file: string; count: () => Promise<number> } {
  const run = randomUUID();
  const file = join(inject('runDir'), `${run}.csv`);
  const rows = Array.from({ length: rowCount }, (_, index) => `${accounts.join(',')},1,${run} ${index}`);
  writeFileSync(file, ['fromAccountId,toAccountId,amount,description', ...rows].join('\n'));
  const count = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int4 as count from records where request ->> 'description' like ${`${run} %`}`.execute(
      stores.db,
    );
    return rows[0]?.count ?? 0;
  };
  return { file, count };
}

const startOn = (file: string) => startBulk(api.api.url, [file, '--operation', 'transfer.create'], { directly: true });

async function expectOnce(before: number, count: () => Promise<number>): Promise<void> {
  expect(await count()).toBe(rowCount);
  await allSettled(stores.db, drainMs);
  expect(await api.api.balanceOf(accounts[1])).toBe(before + rowCount);
  await judge(stores.db);
}

it(
  'a file whose sending is killed three times and started again becomes as many operations as it has rows',
  manyMs,
  async () => {
    const before = await api.api.balanceOf(accounts[1]);
    const { file, count } = writeTransfers();
    for (let kill = 1; kill <= 3; kill += 1) {
      const started = startOn(file);
      const target = Math.min(rowCount - 1, (await count()) + randomInt(1, rowCount / 4));
      await eventually(async () => expect(await count()).toBeGreaterThanOrEqual(target), {
        timeoutMs: 60_000,
        intervalMs: 5,
      });
      started.child.kill('SIGKILL');
      await started.exitCode;
    }
    const last = startOn(file);
    expect(await last.exitCode, last.output()).toBe(0);
    const { created = 0, replayed = 0, refused, failed } = countsIn(last.output());
    expect({ taken: created + replayed, refused, failed }).toEqual({ taken: rowCount, refused: 0, failed: 0 });
    expect(replayed).toBeGreaterThan(0);
    await expectOnce(before, count);
  },
);

it('an API that is killed and comes back meanwhile costs no row and doubles none', manyMs, async () => {
  const before = await api.api.balanceOf(accounts[1]);
  const { file, count } = writeTransfers();
  const started = startOn(file);
  for (const share of [0.2, 0.6]) {
    await eventually(async () => expect(await count()).toBeGreaterThan(rowCount * share), {
      timeoutMs: 60_000,
      intervalMs: 5,
    });
    await api.kill();
    api = await startProcess('api', stores.environment);
  }
  expect(await started.exitCode, started.output()).toBe(0);
  await expectOnce(before, count);
});
