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

/** Unsettled records that nobody touched since `untouchedSince`, by id, for the reconciler's walk. */
export async function listUnsettled(
  db: Database,
  page: { after: string | undefined; untouchedSince: Date; limit: number },
): Promise<RecordRow[]> {
  let query = db.selectFrom('records').selectAll().where('settled_at', 'is', null);
  query = query.where('updated_at', '<', page.untouchedSince);
  if (page.after) query = query.where('id', '>', page.after);
  return await query.orderBy('id').limit(page.limit).execute();
}
