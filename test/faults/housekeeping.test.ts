import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countExpired, plantRecords, readKept } from '../queues/housekeeping/fixture.ts';
import { eventually } from '../support/eventually.ts';
import { runUntilKilled, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;

beforeAll(async () => {
  // Locks of a second, so that a dead worker's run is taken over soon.
  stores = await openTestStores({ LOCK_DURATION_MS: '1000' });
});

afterAll(() => stores.close());

it('workers killed in the middle of deleting leave the rest to the next, and two at once finish it', async () => {
  const { db, environment } = stores;
  await plantRecords(db, 1_000);
  // Unfinished work that is not due, so that nobody runs it meanwhile.
  await sql`update records set next_attempt_at = now() + interval '1 hour' where settled_at is null`.execute(db);
  const kept = await readKept(db);

  await runUntilKilled('worker', { ...environment, SEMEL_FAILPOINTS: 'expiry.jobs-removed=kill@1' });
  expect(await countExpired(db)).toBe(3_000);
  await runUntilKilled('worker', { ...environment, SEMEL_FAILPOINTS: 'expiry.deleted=kill@2' });
  expect(await countExpired(db)).toBe(2_000);
  await runUntilKilled('worker', { ...environment, SEMEL_FAILPOINTS: 'expiry.jobs-removed=kill@3' });
  expect(await countExpired(db)).toBe(1_000);

  const workers = await Promise.all([1, 2].map(() => startProcess('worker', environment)));
  // The run comes by the schedule, at the latest a minute later.
  await eventually(async () => expect(await countExpired(db)).toBe(0), { timeoutMs: 90_000 });
  expect(await readKept(db)).toEqual(kept);
  for (const worker of workers) expect(await worker.stop()).toBe(0);
}, 180_000);
