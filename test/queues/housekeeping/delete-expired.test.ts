import { randomUUID } from 'node:crypto';
import { Worker } from 'bullmq';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { deleteExpired } from '../../../src/queues/housekeeping/delete-expired.ts';
import { operationsQueue } from '../../../src/queues/queues.ts';
import { openRedis } from '../../../src/store/redis.ts';
import { eventually } from '../../support/eventually.ts';
import { countExpired, type HousekeepingFixture, openFixture, plantRecords, readKept } from './fixture.ts';

let fixture: HousekeepingFixture;
const running = new AbortController().signal;

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(() => fixture.close());

beforeEach(async () => {
  await sql`truncate records, dead_letters`.execute(fixture.db);
});

const run = (signal = running) => deleteExpired({ ...fixture, hitFailpoint: () => undefined }, signal);

it('all that have expired and are final go, and nothing else is touched', async () => {
  await plantRecords(fixture.db, 700);
  const kept = await readKept(fixture.db);
  expect(kept).toHaveLength(9 * 700);
  expect(await run()).toBe(3 * 700);
  expect(await countExpired(fixture.db)).toBe(0);
  expect(await readKept(fixture.db)).toEqual(kept);
  expect(await run()).toBe(0);
});

it('three runs at once delete each record once between them', async () => {
  await plantRecords(fixture.db, 500);
  const kept = await readKept(fixture.db);
  const counts = await Promise.all([run(), run(), run()]);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3 * 500);
  expect(await countExpired(fixture.db)).toBe(0);
  expect(await readKept(fixture.db)).toEqual(kept);
});

it('a run that is to end stops after its batch', async () => {
  await plantRecords(fixture.db, 600);
  const stopping = new AbortController();
  const hitFailpoint = (name: string) => (name === 'expiry.deleted' ? stopping.abort() : undefined);
  expect(await deleteExpired({ ...fixture, hitFailpoint }, stopping.signal)).toBe(500);
  expect(await countExpired(fixture.db)).toBe(3 * 600 - 500);
});

it('a failed record stays for as long as its dead letter, which may be run again', async () => {
  await plantRecords(fixture.db, 2);
  const [failed] = await fixture.db.selectFrom('records').selectAll().where('key', '=', 'expired-failed-1').execute();
  await sql`
    insert into dead_letters (id, record_id, client, sub_client, operation, key, generation, attempts, error)
    values (gen_random_uuid(), ${failed?.id}, 'default', '', 'account.open', ${failed?.key ?? ''}, 1, 3, '{}')`.execute(
    fixture.db,
  );
  expect(await run()).toBe(5);
  expect(
    await fixture.db
      .selectFrom('records')
      .selectAll()
      .where('id', '=', failed?.id ?? '')
      .execute(),
  ).toEqual([failed]);
  await sql`delete from dead_letters`.execute(fixture.db);
  expect(await run()).toBe(1);
});

describe('the jobs of a deleted record', () => {
  const insert = async (key: string, generation: number) => {
    await sql`
      insert into records (id, client, sub_client, operation, key, fingerprint, request, status, generation, settled_at, expires_at)
      values (gen_random_uuid(), 'default', '', 'account.open', ${key}, 'f', '{}', 'SUCCEEDED', ${generation}, now(),
        now() - interval '1 second')`.execute(fixture.db);
  };
  const add = async (queue: string, jobId: string) =>
    await fixture.queues.add(queue, [{ name: 'account.open', jobId, data: { recordId: randomUUID() } }]);
  const isKnown = async (queue: string, jobId: string) => (await fixture.queues.get(queue).getJob(jobId)) !== undefined;

  it('are gone with it, those of all its generations, so that none swallows a new one', async () => {
    const key = randomUUID();
    await insert(key, 3);
    const name = `account.open~default~${key}`;
    for (const jobId of [name, `${name}~2`, `${name}~3`]) await add(operationsQueue, jobId);
    await add('dead-letters', name);
    await add(operationsQueue, `${name}~4`);
    expect(await run()).toBe(1);
    for (const jobId of [name, `${name}~2`, `${name}~3`]) expect(await isKnown(operationsQueue, jobId)).toBe(false);
    expect(await isKnown('dead-letters', name)).toBe(false);
    expect(await isKnown(operationsQueue, `${name}~4`)).toBe(true);
  });

  it('keep it if a worker has one in hand, until that has ended', async () => {
    const key = randomUUID();
    await insert(key, 1);
    await fixture.queues.get(operationsQueue).drain();
    await add(operationsQueue, `account.open~default~${key}`);
    let finish = () => undefined as unknown;
    const held = new Promise((resolve) => {
      finish = () => resolve(undefined);
    });
    const connection = openRedis(readConfig(fixture.environment), 'worker', () => undefined);
    const worker = new Worker(operationsQueue, () => held, { connection, prefix: fixture.prefix });
    const queue = fixture.queues.get(operationsQueue);
    await eventually(async () => expect(await queue.getActiveCount()).toBe(1));
    expect(await run()).toBe(0);
    expect(await fixture.db.selectFrom('records').select('key').execute()).toEqual([{ key }]);
    finish();
    await eventually(async () => expect(await queue.getActiveCount()).toBe(0));
    expect(await run()).toBe(1);
    await worker.close();
    connection.disconnect();
  });
});
