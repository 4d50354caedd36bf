import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addAudit, listAudit, trimAudit } from '../../src/store/audit.ts';
import { verifyAudit } from '../../src/store/audit-verify.ts';
import type { Database } from '../../src/store/database.ts';
import { claimRecords, finishRecords, reviveRecord, submitRecords } from '../../src/store/records.ts';
import { findAuditFaults } from '../support/judge.ts';
import { openTestStores, type TestStores } from '../support/service.ts';
import { failAttempt, makeTrail, newRecord, outcomeOf } from '../support/trails.ts';

let stores: TestStores;
let db: Database;

beforeAll(async () => {
  stores = await openTestStores();
  db = stores.db;
});

afterAll(() => stores.close());

const lastOf = async (id: string) => (await listAudit(db, id)).at(-1);
const expire = (id: string) => sql`update records set expires_at = now() where id = ${id}`.execute(db);

it('the table refuses a row without a hash, and one with another hash than that of its fields', async () => {
  const insert = (hash: string) =>
    sql`insert into audit (record_id, seq, to_status, actor, epoch, hash)
      values (${randomUUID()}, 1, 'QUEUED', 'test', 0, ${sql.raw(hash)})`.execute(db);
  await expect(insert('null')).rejects.toThrow('violates not-null constraint');
  await expect(insert(`sha256('')`)).rejects.toThrow('audit_hash_fits');
});

it('a key that is used again after its time ends the trail of its old record', async () => {
  const key = randomUUID();
  const old = await makeTrail(db, { key, failures: 0 });
  await expire(old);
  await submitRecords(db, [newRecord({ id: uuidv7(), key, actor: 'test' })]);
  expect(await lastOf(old)).toMatchObject({ seq: 4, from_status: 'SUCCEEDED', to_status: 'EXPIRED' });
  expect(await findAuditFaults(db)).toEqual([]);
});

it('whoever deletes records, the trail of each says what it was, and is whole', async () => {
  const ids = [await makeTrail(db), await makeTrail(db), await makeTrail(db)];
  const [first = ''] = ids;
  await expire(first);
  const { deleted } = await verifyAudit(db);
  await sql`delete from records where id = any (${ids}::uuid[])`.execute(db);
  const last = await Promise.all(ids.map(lastOf));
  expect(last.map((row) => row?.to_status)).toEqual(['EXPIRED', 'DELETED', 'DELETED']);
  expect(last[0]).toMatchObject({ seq: 6, actor: 'database:test' });
  expect(await verifyAudit(db)).toMatchObject({ faults: 0, deleted: deleted + 2 });
});

it('chains stay whole when many claim, fail, finish and revive the same records at once', async () => {
  const ids = Array.from({ length: 4 }, () => uuidv7());
  await submitRecords(
    db,
    ids.map((id) => newRecord({ id, key: id, actor: 'test' })),
  );
  const attempt = async (id: string, number: number) => {
    await failAttempt(db, id, `worker:${number}`, { number });
    const [claim] = await db.transaction().execute((tx) => claimRecords(tx, [id], `worker:${number}`));
    if (!claim || number % 3 > 0) return;
    const outcome = { ...outcomeOf(id, claim.epoch, { number }), status: 'FAILED' as const };
    await db
      .transaction()
      .execute((tx) => finishRecords(tx, [outcome], `worker:${number}`))
      .catch((error: Error) => expect(error.message).toBe('a record was claimed by another worker'));
    await db.transaction().execute(async (tx) => {
      const revived = await reviveRecord(tx, { id, generation: claim.generation });
      if (revived) await addAudit(tx, revived, { from: 'FAILED', actor: 'client:test', detail: { number } });
    });
  };
  // As many at once as there are connections, so that nobody waits for one for too long.
  const numbers = Array.from({ length: 60 }, (_, number) => number).values();
  const work = async () => {
    for (const number of numbers) await attempt(ids[number % ids.length] ?? '', number);
  };
  await Promise.all(Array.from({ length: 5 }, work));
  const rows = await listAudit(db, ids[0] ?? '');
  expect(rows.length).toBeGreaterThan(20);
  expect(await findAuditFaults(db)).toEqual([]);
});

it('a trail whose beginning was dropped with old months is whole, and one that lost a row is not', async () => {
  const longAgo = '2019-12-31T23:59:59Z';
  const idAt = (instant: string) => uuidv7({ msecs: Date.parse(instant) });
  await sql`select ensure_audit_partitions('2019-11-01T00:00:00Z', 3)`.execute(db);
  const [across, gone, inDefault] = [idAt(longAgo), idAt('2019-12-03T00:00:00Z'), idAt('2019-03-03T00:00:00Z')];
  await addOldRow(across, 1, longAgo);
  await addOldRow(across, 2, '2020-01-01T00:00:00.5Z');
  await addOldRow(across, 3, '2020-01-02T00:00:00Z', 'EXPIRED');
  await addOldRow(gone, 1, '2019-12-03T00:00:00Z');
  await addOldRow(gone, 2, '2019-12-04T00:00:00Z', 'EXPIRED');
  await addOldRow(inDefault, 1, '2019-03-03T00:00:00Z', 'EXPIRED');
  expect(await findAuditFaults(db)).toEqual([]);

  await expect(sql`delete from audit where record_id = ${inDefault}`.execute(db)).rejects.toThrow('append-only');
  expect(await trimAudit(db, new Date('2020-01-20T00:00:00Z'))).toEqual(new Date('2020-01-01T00:00:00Z'));
  expect(
    (await Promise.all([across, gone, inDefault].map((id) => listAudit(db, id)))).map((rows) => rows.length),
  ).toEqual([2, 0, 0]);
  expect(await findAuditFaults(db)).toEqual([]);
  // Nothing is left to drop, so nothing is noted.
  expect(await trimAudit(db, new Date('2020-01-20T00:00:00Z'))).toBeUndefined();
  expect(await db.selectFrom('audit_trims').selectAll().execute()).toHaveLength(1);
  await expect(sql`delete from audit_trims`.execute(db)).rejects.toThrow('append-only');

  // A record made after that time has no right to lack its beginning.
  const young = idAt('2020-01-05T00:00:00Z');
  await addOldRow(young, 2, '2020-01-06T00:00:00Z', 'EXPIRED');
  expect(await findAuditFaults(db)).toEqual([{ recordId: young, seq: 2, problem: 'row 1 before it is missing' }]);
});

/** A row of a record that is gone, hung on the row before it if there is one. */
async function addOldRow(id: string, seq: number, at: string, to = 'QUEUED'): Promise<void> {
  await sql`
    insert into audit (record_id, seq, at, from_status, to_status, actor, epoch, prev_hash, hash)
    select r.id, r.seq, r.at, before.to_status, r.ending, 'test', 0, before.hash,
      hash_audit(before.hash, r.id, r.seq, r.at, before.to_status, r.ending, 'test', 0, null)
    from (select ${id}::uuid as id, ${seq}::integer as seq, ${at}::timestamptz as at, ${to}::text as ending) r
    left join audit before on before.record_id = r.id and before.seq = r.seq - 1`.execute(db);
}
