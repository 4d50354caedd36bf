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

it('the rows of the months to come have partitions of their own', async () => {
  const partitions = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit'::regclass`.execute(service.db);
  expect(partitions.rows.filter(({ name }) => /^audit_\d{4}_\d\d$/.test(name)).length).toBeGreaterThanOrEqual(4);
  const inDefault = await sql`select 1 from audit_default`.execute(service.db);
  expect(inDefault.rows).toEqual([]);
});
