import { type Selectable, sql } from 'kysely';
import type { Instant } from '../columns.ts';
import type { Database } from '../database.ts';

export const suppressionReasons = ['unsubscribed', 'bounced', 'added'] as const;

/** Addresses to which a client sends no mail any more. */
export interface SuppressionsTable {
  client: string;
  email: string;
  reason: (typeof suppressionReasons)[number];
  mailing_id: string | null;
  created_at: Instant;
}

export type SuppressionRow = Selectable<SuppressionsTable>;

/** Adds it, or changes the reason of one that had only bounced. */
export async function addSuppression(
  db: Database,
  suppression: Pick<SuppressionRow, 'client' | 'email' | 'reason' | 'mailing_id'>,
): Promise<SuppressionRow> {
  const { client, email, reason, mailing_id } = suppression;
  const result = await sql<SuppressionRow>`
    insert into suppressions (client, email, reason, mailing_id)
    values (${client}, ${email}, ${reason}, ${mailing_id}::uuid)
    on conflict (client, email) do update
      set reason = case when suppressions.reason = 'bounced' then excluded.reason else suppressions.reason end
    returning *`.execute(db);
  const [row] = result.rows;
  if (!row) throw new Error('the suppression was not written');
  return row;
}

export async function removeSuppression(db: Database, client: string, email: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('suppressions')
    .where('client', '=', client)
    .where('email', '=', email)
    .executeTakeFirst();
  return numDeletedRows > 0;
}

/** By address. `after` is the last address of the page before. */
export async function listSuppressions(
  db: Database,
  client: string,
  page: { limit: number; after: string | undefined },
): Promise<SuppressionRow[]> {
  let query = db.selectFrom('suppressions').selectAll().where('client', '=', client);
  if (page.after !== undefined) query = query.where('email', '>', page.after);
  return await query.orderBy('email').limit(page.limit).execute();
}
