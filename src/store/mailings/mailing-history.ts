import { type Generated, type Selectable, sql } from 'kysely';
import type { Instant, NullableJson } from '../columns.ts';
import type { Database, DatabaseTransaction } from '../database.ts';
import type { MailingStatus } from './mailings.ts';

/** What happened to a mailing, who did it, and when. Written with the change itself. */
export interface MailingHistoryTable {
  mailing_id: string;
  id: Generated<number>;
  at: Instant;
  from_status: MailingStatus | null;
  to_status: MailingStatus;
  actor: string;
  detail: NullableJson<unknown>;
}

export type MailingHistoryRow = Selectable<MailingHistoryTable>;

export async function addMailingHistory(
  tx: DatabaseTransaction,
  row: { mailingId: string; from: MailingStatus | null; to: MailingStatus; actor: string; detail?: unknown },
): Promise<void> {
  const detail = row.detail === undefined ? null : JSON.stringify(row.detail);
  await sql`
    insert into mailing_history (mailing_id, from_status, to_status, actor, detail)
    values (${row.mailingId}::uuid, ${row.from}, ${row.to}, ${row.actor}, ${detail}::jsonb)`.execute(tx);
}

export async function listMailingHistory(db: Database, mailingId: string): Promise<MailingHistoryRow[]> {
  return await db.selectFrom('mailing_history').selectAll().where('mailing_id', '=', mailingId).orderBy('id').execute();
}
