import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IdempotentReceiver, PostgresDedupStore } from '../../src/index.ts';
import type { Database } from '../../src/store/database.ts';
import { openTestDatabase, openTestStores, type TestStores } from '../support/service.ts';
import { createTestDatabase } from '../support/stores.ts';
import { itConforms } from './conformance.ts';

describe('with a database of kysely', () => {
  itConforms(async () => {
    const stores = await openTestStores();
    return { create: (options) => new PostgresDedupStore({ db: stores.db, ...options }), close: stores.close };
  });
});

describe('with a pool of pg', () => {
  itConforms(async () => {
    const database = await createTestDatabase();
    const db = new pg.Pool({ connectionString: database.url });
    const close = async () => {
      await db.end();
      await database.drop();
    };
    return { create: (options) => new PostgresDedupStore({ db, ...options }), close };
  });
});

describe('rows', () => {
  let stores: TestStores;
  let db: Database;

  beforeAll(async () => {
    stores = await openTestStores();
    db = stores.db;
  });

  afterAll(() => stores.close());

  const keptForMs = async (id: string) => {
    const row = await db.selectFrom('dedup').selectAll().where('message_id', '=', id).executeTakeFirstOrThrow();
    return row.expires_at.getTime() - Date.now();
  };

  it('are readable and are kept for thirty days, but only for the lease while in flight', async () => {
    const [store, id] = [new PostgresDedupStore({ db }), randomUUID()];
    const idOf = (message: string) => message;
    await new IdempotentReceiver({ store, handler: () => keptForMs(id), idOf, namespace: 'mail' }).receive(id);
    const [row] = await db.selectFrom('dedup').selectAll().where('message_id', '=', id).execute();
    expect(row).toMatchObject({ namespace: 'mail', state: 'DONE' });
    expect(Number(row?.result)).toBeGreaterThan(0);
    expect(Number(row?.result)).toBeLessThanOrEqual(30_000);
    const thirtyDaysMs = 30 * 24 * 60 * 60 * 1000;
    expect(await keptForMs(id)).toBeGreaterThan(thirtyDaysMs - 60_000);
    expect(await keptForMs(id)).toBeLessThanOrEqual(thirtyDaysMs);
  });

  it('are removed in batches, by several processes at once, each row once', async () => {
    await sql`delete from dedup`.execute(db);
    await sql`
      insert into dedup (namespace, message_id, state, token, result, expires_at)
      select 'old', n::text, 'DONE', gen_random_uuid(), '', now() - interval '1 second' from generate_series(1, 2500) n
      union all
      select 'new', n::text, 'DONE', gen_random_uuid(), '', now() + interval '1 hour' from generate_series(1, 10) n
    `.execute(db);
    const [one, two] = [new PostgresDedupStore({ db }), new PostgresDedupStore({ db })];
    const removed = await Promise.all([one.removeExpired({ batchSize: 100 }), two.removeExpired({ batchSize: 100 })]);
    // One of them may stop early, because the other has its hands on the last rows.
    const rest = await one.removeExpired();
    expect(removed[0] + removed[1] + rest).toBe(2_500);
    expect(await db.selectFrom('dedup').select('namespace').distinct().execute()).toEqual([{ namespace: 'new' }]);
    await expect(one.removeExpired({ batchSize: 0 })).rejects.toThrow('batchSize must be a positive integer.');
  });

  it('expired ones are removed by way of an index', async () => {
    const plan = await db.transaction().execute(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx);
      return await sql`explain select 1 from dedup where expires_at <= statement_timestamp()
        order by expires_at limit 10`.execute(tx);
    });
    expect(JSON.stringify(plan.rows)).toContain('dedup_expiry');
  });

  it('a program with a database of its own creates the table, even if several start at once', async () => {
    const [database, schema] = [await createTestDatabase(), 'program'];
    const other = openTestDatabase(`${database.url}?options=-c%20search_path%3D${schema}`);
    try {
      await sql`create schema program`.execute(other);
      const programs = Array.from({ length: 3 }, () => new PostgresDedupStore({ db: other }));
      await Promise.all([...programs, ...programs].map((store) => store.createTable()));
      const [store] = programs;
      expect(await store?.take({ namespace: 'own', id: 'a' }, randomUUID())).toEqual({ state: 'taken' });
    } finally {
      await other.destroy();
      await database.drop();
    }
  });
});
