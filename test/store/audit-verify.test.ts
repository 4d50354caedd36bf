import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditFault, findSealableInstant, verifyAudit } from '../../src/store/audit-verify.ts';
import type { Database } from '../../src/store/database.ts';
import { findAuditFaults } from '../support/judge.ts';
import { openTestStores, type TestStores } from '../support/service.ts';
import { makeTrail, unguardAudit } from '../support/trails.ts';

let stores: TestStores;
let id: string;

beforeAll(async () => {
  stores = await openTestStores();
  await unguardAudit(stores.db);
  await makeTrail(stores.db);
  id = await makeTrail(stores.db, { failures: 2 });
  await makeTrail(stores.db);
});

afterAll(() => stores.close());

/** What the verifier says after a change, which is undone afterwards. */
async function faultsAfter(change: (db: Database) => Promise<unknown>): Promise<AuditFault[]> {
  const undo = new Error('undo');
  let faults: AuditFault[] = [];
  const trying = stores.db.transaction().execute(async (tx) => {
    await change(tx);
    faults = await findAuditFaults(tx);
    throw undo;
  });
  await expect(trying).rejects.toBe(undo);
  return faults;
}

const faultAt = (seq: number | undefined, problem: string): AuditFault => ({ recordId: id, seq, problem });

it('a trail that nobody touched is whole', async () => {
  expect(await verifyAudit(stores.db)).toMatchObject({ chains: 3, rows: 5 + 7 + 5, faults: 0, first: undefined });
});

describe('a changed row is found and named', () => {
  const other = `'00000000-0000-7000-8000-000000000000'`;
  it.each([
    ['at', `at + interval '1 microsecond'`],
    ['from_status', `'UNKNOWN'`],
    ['to_status', `'UNKNOWN'`],
    ['actor', `'somebody else'`],
    ['epoch', 'epoch + 1'],
    ['detail', `'{"attempt": 1, "error": ""}'`],
    ['detail', `case when detail is null then 'null'::jsonb end`],
    ['prev_hash', `'\\x00'`],
    ['hash', `sha256('')`],
  ])('%s', async (column, value) => {
    for (let seq = 1; seq <= 7; seq += 1) {
      const set = sql.raw(`update audit set ${column} = ${value} where record_id = '${id}' and seq = ${seq}`);
      const faults = await faultsAfter((db) => set.execute(db));
      expect(faults[0], `row ${seq}`).toEqual(faultAt(seq, 'its fields do not give its hash: it was changed'));
    }
  });

  it.each([
    ['record_id', other],
    ['seq', 'seq + 100'],
  ])('%s', async (column, value) => {
    for (let seq = 1; seq <= 7; seq += 1) {
      const set = sql.raw(`update audit set ${column} = ${value} where record_id = '${id}' and seq = ${seq}`);
      const faults = await faultsAfter((db) => set.execute(db));
      expect(faults.map(({ problem }) => problem)).toContain('its fields do not give its hash: it was changed');
      expect(faults.map(({ recordId }) => recordId)).toContain(id);
    }
  });

  it('also if its own hash was made to fit', async () => {
    const change = sql`
      update audit set actor = 'somebody else', hash = hash_audit(
        prev_hash, record_id, seq, at, from_status, to_status, 'somebody else', epoch, detail)
      where record_id = ${id} and seq = 3`;
    expect(await faultsAfter((db) => change.execute(db))).toEqual([
      faultAt(4, 'it does not follow from the row before it'),
    ]);
  });

  it('also in the last row, by what the record keeps of it', async () => {
    const change = sql`
      update audit set actor = 'somebody else', hash = hash_audit(
        prev_hash, record_id, seq, at, from_status, to_status, 'somebody else', epoch, detail)
      where record_id = ${id} and seq = 7`;
    expect(await faultsAfter((db) => change.execute(db))).toEqual([
      faultAt(7, 'its hash is not the one that the record keeps of its last row'),
    ]);
  });
});

describe('a deleted row is found and named', () => {
  it.each([
    ['the first', 'seq = 1', 2, 'row 1 before it is missing'],
    ['one in the middle', 'seq = 3', 4, 'row 3 before it is missing'],
    ['several', 'seq between 3 and 5', 6, 'each of the rows 3 to 5 before it is missing'],
    ['the last', 'seq = 7', 6, 'row 7 after it is missing'],
    ['all', 'true', undefined, 'all rows of the record are missing'],
  ])('%s', async (_, which, seq, problem) => {
    const remove = sql.raw(`delete from audit where record_id = '${id}' and ${which}`);
    expect(await faultsAfter((db) => remove.execute(db))).toEqual([faultAt(seq, problem)]);
  });

  it('the end of a trail whose record is gone', async () => {
    const faults = await faultsAfter((db) => sql`delete from records where id = ${id}`.execute(db));
    expect(faults).toEqual([faultAt(7, 'it is the last row, and the record is gone: the end is missing')]);
  });
});

it('two rows that changed places are found and named', async () => {
  const swap = sql`update audit set seq = case seq when 3 then 5 else 3 end where record_id = ${id} and seq in (3, 5)`;
  expect(await faultsAfter((db) => swap.execute(db))).toEqual([
    faultAt(3, 'its fields do not give its hash: it was changed'),
    faultAt(4, 'it does not follow from the row before it'),
    faultAt(5, 'its fields do not give its hash: it was changed'),
    faultAt(6, 'it does not follow from the row before it'),
  ]);
});

it.each([
  ['between two others', 4, 'there are two rows with the number 4: one was added'],
  ['at the end', 8, 'the record ends with row 7: it was added'],
])('a row added %s is found and named, though its hash fits', async (_, seq, problem) => {
  const add = sql`
    insert into audit (record_id, seq, at, from_status, to_status, actor, epoch, prev_hash, hash)
    select ${id}, ${seq}::integer, now(), to_status, 'QUEUED', 'somebody', 1, hash,
      hash_audit(hash, ${id}, ${seq}::integer, now(), to_status, 'QUEUED', 'somebody', 1, null)
    from audit where record_id = ${id} and seq = ${seq}::integer - 1`;
  expect((await faultsAfter((db) => add.execute(db)))[0]).toEqual(faultAt(seq, problem));
});

it('a record that was changed beside its trail is found', async () => {
  const faults = await faultsAfter((db) => sql`update records set status = 'REJECTED' where id = ${id}`.execute(db));
  expect(faults).toEqual([faultAt(7, 'it says SUCCEEDED, and the record is REJECTED')]);
});

it('pages of any size see the same', async () => {
  const whole = await verifyAudit(stores.db);
  for (const pageSize of [1, 2, 7, 17]) expect(await verifyAudit(stores.db, { pageSize })).toEqual(whole);
});

it('one record, or those made since an instant, are checked alone', async () => {
  expect(await verifyAudit(stores.db, { recordId: id })).toMatchObject({ chains: 1, rows: 7, faults: 0 });
  const made = new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
  const { chains } = await verifyAudit(stores.db, { since: made });
  expect(chains).toBeGreaterThanOrEqual(2);
  expect(await verifyAudit(stores.db, { since: new Date(Date.now() + 60_000) })).toMatchObject({ chains: 0 });
  expect(await verifyAudit(stores.db, { recordId: randomUUID() })).toMatchObject({ chains: 0, faults: 0 });
});

it('a seal stays the same while work goes on, and shows a history that was written anew as a whole', async () => {
  const sealedUntil = new Date();
  const { seal } = await verifyAudit(stores.db, { sealedUntil });
  await makeTrail(stores.db);
  expect((await verifyAudit(stores.db, { sealedUntil })).seal).toBe(seal);
  expect((await verifyAudit(stores.db)).seal).not.toBe(seal);
  // Whoever has all rights can remove an operation without leaving a broken chain, but not without changing the seal.
  await sql`delete from audit where record_id = ${id}`.execute(stores.db);
  await sql`delete from records where id = ${id}`.execute(stores.db);
  expect(await verifyAudit(stores.db, { sealedUntil })).toMatchObject({ faults: 0 });
  expect((await verifyAudit(stores.db, { sealedUntil })).seal).not.toBe(seal);
});

it('what is sealed ends before everything that is still under way', async () => {
  await stores.db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ at: Date }>`select now() as at`.execute(tx);
    const began = rows[0]?.at.getTime() ?? 0;
    const sealable = await findSealableInstant(stores.db, 0);
    expect(sealable.getTime()).toBeLessThan(began);
    expect(sealable.getTime()).toBeGreaterThan(began - 60_000);
  });
  expect((await findSealableInstant(stores.db)).getTime()).toBeLessThan(Date.now() - 59_000);
});
