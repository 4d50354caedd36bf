import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { RecordRow, RecordStatus } from './records.ts';

export interface Scope {
  client: string;
  subClient: string;
}

export interface RecordFilter {
  status?: RecordStatus | undefined;
  operation?: string | undefined;
  key?: string | undefined;
}

export async function findRecord(db: Database, scope: Scope, id: string): Promise<RecordRow | undefined> {
  return await db
    .selectFrom('records')
    .selectAll()
    .where('id', '=', id)
    .where('client', '=', scope.client)
    .where('sub_client', '=', scope.subClient)
    .executeTakeFirst();
}

/** Newest first. `before` is the last id of the page before: ids grow with time, so a page never shifts. */
export async function listRecords(
  db: Database,
  scope: Scope,
  filter: RecordFilter,
  page: { limit: number; before: string | undefined },
): Promise<RecordRow[]> {
  let query = db
    .selectFrom('records')
    .selectAll()
    // The expression of the index records_listing.
    .where(sql<string>`client || '@' || sub_client`, '=', `${scope.client}@${scope.subClient}`)
    .where('client', '=', scope.client)
    .where('sub_client', '=', scope.subClient);
  if (filter.status) query = query.where('status', '=', filter.status);
  if (filter.operation) query = query.where('operation', '=', filter.operation);
  if (filter.key !== undefined) query = query.where('key', '=', filter.key);
  if (page.before) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** A record with the time until its next attempt, by the clock of the database. */
export type UnsettledRecord = RecordRow & { due_in_ms: number };

/** Unsettled records that nobody touched for so long, by id, for the reconciler's walk. Only one clock is asked. */
export async function listUnsettled(
  db: Database,
  page: { after: string | undefined; untouchedMs: number; limit: number },
): Promise<UnsettledRecord[]> {
  let query = db
    .selectFrom('records')
    .selectAll()
    .select(sql<number>`coalesce(ms_until(next_attempt_at), 0)`.as('due_in_ms'))
    .where('settled_at', 'is', null)
    .where('updated_at', '<', sql<Date>`now() - make_interval(secs => ${page.untouchedMs / 1000})`);
  if (page.after) query = query.where('id', '>', page.after);
  return await query.orderBy('id').limit(page.limit).execute();
}
