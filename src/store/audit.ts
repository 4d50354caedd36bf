import type { ColumnType } from 'kysely';
import type { Instant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';
import type { RecordRow, RecordStatus } from './records.ts';

export interface AuditTable {
  record_id: string;
  /** Contiguous per record, beginning with 1. */
  seq: number;
  at: Instant;
  from_status: RecordStatus | null;
  to_status: RecordStatus;
  actor: string;
  epoch: number;
  detail: ColumnType<unknown, string | null, never>;
}

/** Writes the row for a transition that was just made. `record` is the record after it. */
export async function addAudit(
  tx: DatabaseTransaction,
  record: RecordRow,
  transition: { from: RecordStatus; actor: string; detail: unknown },
): Promise<void> {
  await tx
    .insertInto('audit')
    .values({
      record_id: record.id,
      seq: record.transitions,
      from_status: transition.from,
      to_status: record.status,
      actor: transition.actor,
      epoch: record.epoch,
      detail: JSON.stringify(transition.detail),
    })
    .execute();
}

export async function listAudit(db: Database, recordId: string) {
  return await db.selectFrom('audit').selectAll().where('record_id', '=', recordId).orderBy('seq').execute();
}
