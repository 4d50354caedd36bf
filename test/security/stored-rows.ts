import { sql } from 'kysely';
import type { Database } from '../../src/store/database.ts';

/** What the service writes on its own, whether anybody asks for anything or not. */
const byItself = ['request_counts', 'invariants', 'consumer_groups', 'outbox', 'webhook_deliveries', 'dedup'];

/** How many rows each table has, whatever tables there are, to show that a refused request left nothing. */
export async function countRows(db: Database): Promise<Record<string, number>> {
  const tables = await db.introspection.getTables();
  const names = tables.map(({ name }) => name).filter((name) => !byItself.includes(name));
  const counts = names.map((name) => sql`select ${name}::text as name, count(*)::int as rows from ${sql.table(name)}`);
  const { rows } = await sql<{ name: string; rows: number }>`${sql.join(counts, sql` union all `)}`.execute(db);
  return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]));
}
