import { type ColumnType, type Generated, sql } from 'kysely';
import type { Instant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';
import type { RecordRow, RecordStatus } from './records.ts';

/** How a trail ends whose record is gone: its time was over, or somebody deleted it before. */
export const trailEndings = ['EXPIRED', 'DELETED'] as const;
export type TrailEnding = (typeof trailEndings)[number];

export interface AuditTable {
  record_id: string;
  /** Contiguous per record, beginning with 1. */
  seq: number;
  at: Instant;
  from_status: RecordStatus | null;
  to_status: RecordStatus | TrailEnding;
  actor: string;
  epoch: number;
  detail: ColumnType<unknown, string | null, never>;
  /** The hash of the row before; null in the first row. */
  prev_hash: Buffer | null;
  /** Of this row's fields and `prev_hash`; `hash_audit` makes it, and the table refuses any other. */
  hash: Buffer;
}

/** Until when the trail was dropped because it was old. */
export interface AuditTrimsTable {
  until: Date;
  trimmed_at: Generated<Date>;
}

/**
 * Writes the row for a transition that was just made, and hangs it on the record's chain. `record` is the record after
 * it. The hot transitions do the same inside their functions in the database.
 */
export async function addAudit(
  tx: DatabaseTransaction,
  record: RecordRow,
  transition: { from: RecordStatus; actor: string; detail: unknown },
): Promise<void> {
  const { id, transitions: seq, status, epoch } = record;
  const detail = JSON.stringify(transition.detail);
  await sql`
    with traced as (
      insert into audit (record_id, seq, at, from_status, to_status, actor, epoch, detail, prev_hash, hash)
      select record_id, seq, now(), from_status, to_status, actor, epoch, detail, prev_hash,
        hash_audit(prev_hash, record_id, seq, now(), from_status, to_status, actor, epoch, detail)
      from (
        select id as record_id, ${seq}::integer as seq, ${transition.from}::text as from_status,
          ${status}::text as to_status, ${transition.actor}::text as actor, ${epoch}::integer as epoch,
          ${detail}::jsonb as detail, audit_hash as prev_hash
        from records where id = ${id}) r
      returning record_id, hash
    )
    update records r set audit_hash = traced.hash from traced where r.id = traced.record_id`.execute(tx);
}

export async function listAudit(db: Database, recordId: string) {
  return await db.selectFrom('audit').selectAll().where('record_id', '=', recordId).orderBy('seq').execute();
}

/** Drops the trail of the months before `before`, and remembers it. Returns until when, if there was something. */
export async function trimAudit(db: Database, before: Date): Promise<Date | undefined> {
  const { rows } = await sql<{ until: Date | null }>`select trim_audit(${before}) as until`.execute(db);
  return rows[0]?.until ?? undefined;
}

/**
 * Whether an external effect may have happened since the record was last settled: an attempt ended in doubt, or its
 * worker was gone when the next one began.
 */
export async function wasInDoubt(tx: DatabaseTransaction, recordId: string): Promise<boolean> {
  const result = await sql<{ doubt: boolean }>`
    select exists (
      select 1 from audit where record_id = ${recordId}::uuid
        and ((from_status = 'PROCESSING' and to_status = 'PROCESSING') or detail ->> 'inDoubt' = 'true')
        and seq > coalesce((
          select max(seq) from audit
          where record_id = ${recordId}::uuid and to_status not in ('QUEUED', 'PROCESSING')), 0)) as doubt`.execute(tx);
  return result.rows[0]?.doubt ?? false;
}

/** The last transition of a record. */
export async function findLastAudit(db: Database, recordId: string) {
  return await db
    .selectFrom('audit')
    .selectAll()
    .where('record_id', '=', recordId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}
