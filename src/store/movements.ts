import type { GeneratedAlways, Selectable } from 'kysely';
import type { Instant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

export const movementKinds = ['opening', 'transfer'] as const;

/** One side of a double entry. All amounts ever written sum to zero. */
export interface MovementsTable {
  id: GeneratedAlways<number>;
  account_id: string;
  operation_id: string;
  kind: (typeof movementKinds)[number];
  amount: number;
  balance_after: number | null;
  created_at: Instant;
}

export type MovementRow = Selectable<MovementsTable>;

/** Both sides of an opening balance: what the account receives, the system account gives. */
export async function insertOpening(
  tx: DatabaseTransaction,
  opening: { operationId: string; accountId: string; systemAccountId: string; amount: number },
): Promise<void> {
  const { operationId, accountId, systemAccountId, amount } = opening;
  await tx
    .insertInto('movements')
    .values([
      { account_id: accountId, operation_id: operationId, kind: 'opening', amount, balance_after: amount },
      { account_id: systemAccountId, operation_id: operationId, kind: 'opening', amount: -amount, balance_after: null },
    ])
    .execute();
}

/** Newest first. Ids of one account grow in the order of its movements, because each is written under its row lock. */
export async function listMovements(
  db: Database,
  accountId: string,
  page: { limit: number; before: number | undefined },
): Promise<MovementRow[]> {
  let query = db.selectFrom('movements').selectAll().where('account_id', '=', accountId);
  if (page.before !== undefined) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}
