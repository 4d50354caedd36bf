import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { RecordRow } from './records.ts';

/** Unfinished, and neither touched nor due for its next attempt within the last minutes. Oldest first. */
export async function listStuck(
  db: Database,
  minutes: number,
  page: { limit: number; after: string | undefined },
): Promise<RecordRow[]> {
  let query = db
    .selectFrom('records')
    .selectAll()
    .where('settled_at', 'is', null)
    .where(sql<boolean>`greatest(updated_at, next_attempt_at) <= now() - make_interval(mins => ${minutes})`);
  if (page.after) query = query.where('id', '>', page.after);
  return await query.orderBy('id').limit(page.limit).execute();
}

/** Those of which nobody can tell whether their effect happened. Oldest first. */
export async function listUnknown(
  db: Database,
  page: { limit: number; after: string | undefined },
): Promise<RecordRow[]> {
  let query = db
    .selectFrom('records')
    .selectAll()
    // The condition of the index records_unresolved.
    .where('settled_at', 'is not', null)
    .where('expires_at', 'is', null);
  if (page.after) query = query.where('id', '>', page.after);
  return await query.orderBy('id').limit(page.limit).execute();
}

/** Ids begin with the time, so the first unfinished one is the oldest. */
export async function findOldestUnfinished(db: Database): Promise<Date | undefined> {
  const row = await db
    .selectFrom('records')
    .select('created_at')
    .where('settled_at', 'is', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row?.created_at;
}
