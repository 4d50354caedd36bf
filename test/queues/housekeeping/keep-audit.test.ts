import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keepAudit } from '../../../src/queues/housekeeping/keep-audit.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestStores, type TestStores } from '../../support/service.ts';

let stores: TestStores;

beforeAll(async () => {
  stores = await openTestStores();
});

afterAll(() => stores.close());

const keep = (auditRetentionDays: number) =>
  keepAudit({ db: stores.db, log: pino({ level: 'silent' }), auditRetentionDays }, new AbortController().signal);

async function listPartitions(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'audit'::regclass order by 1`.execute(stores.db);
  return rows.map((row) => row.name);
}

/** One row of a record that is long gone. */
async function addRow(monthsAgo: number): Promise<void> {
  await sql`
    insert into audit (record_id, seq, at, to_status, actor, epoch, hash)
    select id, 1, at, 'QUEUED', 'test', 0, hash_audit(null, id, 1, at, null, 'QUEUED', 'test', 0, null)
    from (select gen_random_uuid() as id, now() - make_interval(months => ${monthsAgo}) as at) r`.execute(stores.db);
}

it('months that are wholly older than the retention are dropped, rows that found no partition too, younger ones stay', async () => {
  await sql`select ensure_audit_partitions(now() - interval '14 months', 2)`.execute(stores.db);
  const before = await listPartitions();
  for (const months of [40, 14, 13, 12, 6, 0]) await addRow(months);
  expect(await keep(400)).toEqual({ trimmed: 1 });
  const left = await sql<{ months: number }>`
    select round(extract(epoch from now() - at) / (86400 * 30.44))::integer as months from audit order by at`.execute(
    stores.db,
  );
  // A month that the retention ends in stays whole.
  expect(left.rows.map((row) => row.months)).toEqual(expect.arrayContaining([12, 6, 0]));
  expect(left.rows.map((row) => row.months)).not.toContain(40);
  expect(left.rows.map((row) => row.months)).not.toContain(14);
  expect((await listPartitions()).length).toBeLessThan(before.length);
  expect(await keep(400)).toEqual({ trimmed: 0 });
});

it('a drop that somebody is in the way of lets the others pass, and is tried again', async () => {
  await sql`select ensure_audit_partitions(now() - interval '30 months', 1)`.execute(stores.db);
  await addRow(30);
  const keeping = await stores.db.transaction().execute(async (tx) => {
    // A long reader, and such a lock as everything that writes a row has too.
    await sql`select 1 from audit limit 1`.execute(tx);
    const kept = keep(365);
    await eventually(async () => expect(await countWaiting()).toBeGreaterThan(0));
    await eventually(async () => expect(await countWaiting()).toBe(0));
    // It has given up its place, so this does not stand behind it.
    await addRow(0);
    return { kept };
  });
  expect(await keeping.kept).toEqual({ trimmed: 1 });
});

async function countWaiting(): Promise<number> {
  const { rows } = await sql`
    select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`.execute(
    stores.db,
  );
  return rows.length;
}
