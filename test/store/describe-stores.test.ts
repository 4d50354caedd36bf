import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countRecords, describeDatabase } from '../../src/store/describe-stores.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;

beforeAll(async () => {
  stores = await openTestStores();
  // Ids as the service makes them: the time comes first.
  await sql`
    insert into records (id, client, sub_client, operation, key, fingerprint, request, status, settled_at, expires_at,
      created_at, updated_at)
    select (lpad(to_hex((extract(epoch from now() - kind.age) * 1000)::bigint), 12, '0') || '7000'
        || '8000' || lpad(to_hex(row_number() over ()), 12, '0'))::uuid,
      'default', '', 'account.open', kind.status || kind.age || n, 'f', '{}', kind.status,
      case when kind.status not in ('QUEUED', 'PROCESSING') then now() end,
      case when kind.status in ('SUCCEEDED', 'REJECTED', 'FAILED') then now() + interval '1 day' end,
      now() - kind.age, now() - kind.age
    from (values ('QUEUED', 7, interval '1 minute'), ('QUEUED', 2, interval '1 hour'),
      ('PROCESSING', 3, interval '1 hour'), ('UNKNOWN', 5, interval '1 hour'), ('FAILED', 20, interval '1 hour'),
      ('REJECTED', 1000, interval '1 hour'), ('SUCCEEDED', 3000, interval '1 hour')) as kind (status, count, age),
      generate_series(1, kind.count) n`.execute(stores.db);
});

afterAll(() => stores.close());

const truth = { QUEUED: 9, PROCESSING: 3, UNKNOWN: 5, FAILED: 20, REJECTED: 1_000, SUCCEEDED: 3_000 };

it('of a small table everything is counted', async () => {
  expect(await countRecords(stores.db)).toEqual(truth);
});

it('of a large one what needs somebody is counted, and the rest is estimated', async () => {
  const { rows } = await sql<{ pages: number }>`select pg_relation_size('records') / 8192 as pages`.execute(stores.db);
  const counts = await countRecords(stores.db, { pages: Math.floor((rows[0]?.pages ?? 0) / 2), counted: 100 });
  expect(counts).toMatchObject({ QUEUED: 9, PROCESSING: 3, UNKNOWN: 5 });
  // Half of some hundred pages, taken at random: far from these bounds unless the share is wrong.
  expect(counts.SUCCEEDED).toBeGreaterThan(1_500);
  expect(counts.SUCCEEDED).toBeLessThan(4_500);
  expect(counts.SUCCEEDED).not.toBe(truth.SUCCEEDED / 2);
});

it('a backlog beyond what is counted is estimated too', async () => {
  const counts = await countRecords(stores.db, { pages: 2_000, counted: 5 });
  expect(counts).toEqual(truth);
});

it('a record is stuck if nothing happened to it for half an hour and it does not wait for its next attempt', async () => {
  expect((await describeDatabase(stores.db)).stuck).toBe(5);
  await sql`update records set next_attempt_at = now() + interval '1 minute' where status = 'PROCESSING'`.execute(
    stores.db,
  );
  expect((await describeDatabase(stores.db)).stuck).toBe(2);
});

it('a job that stays in the outbox until it is done is pending only when it is overdue', async () => {
  const add = (stays: boolean, dueInSeconds: number, ageSeconds: number, quarantined = false) =>
    sql`
      insert into outbox (id, queue, name, job_id, data, next_attempt_at, stays, created_at, quarantined_at)
      values (gen_random_uuid(), 'q', 'n', 'j', '{}', now() + make_interval(secs => ${dueInSeconds}), ${stays},
        now() - make_interval(secs => ${ageSeconds}), ${quarantined ? sql`now()` : null})`.execute(stores.db);
  expect((await describeDatabase(stores.db)).outbox).toEqual({ pending: 0, quarantined: 0, lagSeconds: 0 });
  await add(true, 10, 7_200);
  await add(false, 2, 0, true);
  expect((await describeDatabase(stores.db)).outbox).toEqual({ pending: 0, quarantined: 1, lagSeconds: 0 });
  await add(true, -40, 7_200);
  const overdue = (await describeDatabase(stores.db)).outbox;
  expect(overdue.pending).toBe(1);
  expect(Math.round(overdue.lagSeconds / 30)).toBe(1);
  await add(false, 1, 600);
  const late = (await describeDatabase(stores.db)).outbox;
  expect(late.pending).toBe(2);
  expect(late.lagSeconds).toBeGreaterThanOrEqual(600);
});
