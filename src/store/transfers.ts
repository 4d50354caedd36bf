import { type Selectable, sql } from 'kysely';
import type { Instant } from './columns.ts';
import type { Database } from './database.ts';
import type { RecordRow } from './records.ts';

export interface TransfersTable {
  id: string;
  client: string;
  from_account_id: string;
  to_account_id: string;
  amount: number;
  currency: string;
  description: string | null;
  created_at: Instant;
}

export type TransferRow = Selectable<TransfersTable>;

/**
 * Claims, applies and finishes a group of transfer records in one round trip and one commit.
 * Returns the records that it settled; those that were settled before are left out.
 */
export async function createTransfers(
  db: Database,
  group: { ids: readonly string[]; actor: string; ttlSeconds: number },
): Promise<RecordRow[]> {
  const result = await sql<RecordRow>`
    select * from create_transfers(${group.ids}::uuid[], ${group.actor}, ${group.ttlSeconds})`.execute(db);
  return result.rows;
}

export async function findTransfer(db: Database, client: string, id: string): Promise<TransferRow | undefined> {
  return await db
    .selectFrom('transfers')
    .selectAll()
    .where('id', '=', id)
    .where('client', '=', client)
    .executeTakeFirst();
}
