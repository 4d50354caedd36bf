import type { ColumnType, Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Instant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

/** What operators did that concerns no single record; what they do to a record is in the record's audit trail. */
export interface AdminActionsTable {
  id: string;
  at: Instant;
  /** Who: `admin:<client>:<id of the API key>`. */
  actor: string;
  action: string;
  /** The id of what it was done to. */
  subject: string | null;
  detail: ColumnType<unknown, string | null, never>;
}

export type AdminActionRow = Selectable<AdminActionsTable>;

export type AdminActionName = 'api-key.create' | 'api-key.revoke' | 'dead-letter.discard' | 'dead-letters.retry';

/** Written in the transaction that does it. */
export async function addAdminAction(
  tx: DatabaseTransaction,
  row: { actor: string; action: AdminActionName; subject: string | null; detail: unknown },
): Promise<void> {
  const { actor, action, subject } = row;
  await tx
    .insertInto('admin_actions')
    .values({ id: uuidv7(), actor, action, subject, detail: JSON.stringify(row.detail) })
    .execute();
}

/** Newest first. */
export async function listAdminActions(
  db: Database,
  page: { limit: number; before: string | undefined },
): Promise<AdminActionRow[]> {
  let query = db.selectFrom('admin_actions').selectAll();
  if (page.before) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}
