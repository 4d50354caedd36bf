import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await service.api.openAccount(100);
});

afterAll(() => service.close());

it.each(['update audit set actor = $$someone else$$', 'delete from audit', 'truncate audit'])(
  'the database refuses: %s',
  async (statement) => {
    const before = await service.db.selectFrom('audit').selectAll().execute();
    expect(before.length).toBeGreaterThan(0);
    await expect(sql.raw(statement).execute(service.db)).rejects.toThrow('audit rows are append-only');
    expect(await service.db.selectFrom('audit').selectAll().execute()).toEqual(before);
  },
);

it('a month whose rows are in the default partition does not stop a later start', async () => {
  const later = '2031-05-10T00:00:00Z';
  await sql`
    insert into audit (record_id, seq, at, to_status, actor, epoch, hash)
    select id, 1, at, 'QUEUED', 'test', 0, hash_audit(null, id, 1, at, null, 'QUEUED', 'test', 0, null)
    from (select gen_random_uuid() as id, ${later}::timestamptz as at) r`.execute(service.db);
  await sql`select ensure_audit_partitions(${later}::timestamptz, 2)`.execute(service.db);
  const rows = await sql`select 1 from audit_default`.execute(service.db);
  expect(rows.rows).toHaveLength(1);
  const next = await sql`select to_regclass('audit_2031_06') as name`.execute(service.db);
  expect(next.rows).toEqual([{ name: 'audit_2031_06' }]);
});

it('the rows of the months to come have partitions of their own', async () => {
  const partitions = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit'::regclass`.execute(service.db);
  expect(partitions.rows.filter(({ name }) => /^audit_\d{4}_\d\d$/.test(name)).length).toBeGreaterThanOrEqual(4);
  const own = await sql`select 1 from audit where at < now() and tableoid = 'audit_default'::regclass`.execute(
    service.db,
  );
  expect(own.rows).toEqual([]);
});
