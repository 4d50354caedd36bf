import { type Generated, type Selectable, sql } from 'kysely';
import type { Instant, Json, NullableInstant, NullableJson } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';
import { scopedKeyOf } from './scoped-key.ts';

export const recordStatuses = ['QUEUED', 'PROCESSING', 'SUCCEEDED', 'REJECTED', 'FAILED', 'UNKNOWN'] as const;
export type RecordStatus = (typeof recordStatuses)[number];

/** Why an operation was refused or failed: a code, a public message, and what else its problem carries. */
export interface RecordError {
  code: string;
  message: string;
  extra?: Record<string, unknown>;
}

export interface RecordsTable {
  id: string;
  client: string;
  sub_client: string;
  operation: string;
  key: string | null;
  fingerprint: string;
  request: Json<unknown>;
  status: RecordStatus;
  generation: Generated<number>;
  epoch: Generated<number>;
  attempts: Generated<number>;
  replays: Generated<number>;
  transitions: Generated<number>;
  response_status: number | null;
  /** The text of the answer's body, exactly as it was first given. */
  response_body: string | null;
  error: NullableJson<RecordError>;
  resource_type: string | null;
  resource_id: string | null;
  next_attempt_at: NullableInstant;
  created_at: Instant;
  updated_at: Instant;
  settled_at: NullableInstant;
  expires_at: NullableInstant;
  /** The hash of the last audit row: the end of the chain. */
  audit_hash: Generated<Buffer | null>;
}

export type RecordRow = Selectable<RecordsTable>;

/** A record to insert, and the outbox row that goes with it. */
export interface NewRecord {
  id: string;
  client: string;
  sub_client: string;
  operation: string;
  key: string | null;
  fingerprint: string;
  request: unknown;
  actor: string;
  outbox_id: string;
  queue: string;
  job_id: string;
  reply_to: string | null;
  relay_after_ms: number;
}

export type SubmittedRecord = RecordRow & { created: boolean };

export interface Outcome {
  id: string;
  epoch: number;
  status: RecordStatus;
  response_status: number | null;
  response_body: string | null;
  error: RecordError | null;
  resource_type: string | null;
  resource_id: string | null;
  events: readonly { type: string; data: unknown }[];
  ttl_seconds: number;
  detail: unknown;
}

/** The SQLSTATE that finish_records raises when another worker has claimed a record meanwhile. */
export const fenceLostCode = 'SM001';

/** Inserts what is new and returns, for every row, the record that now stands for its key. */
export async function submitRecords(db: Database, rows: readonly NewRecord[]): Promise<SubmittedRecord[]> {
  const result = await sql<SubmittedRecord>`
    select created, (record).* from submit_records(${JSON.stringify(rows)}::jsonb)`.execute(db);
  return result.rows;
}

export interface ManyRecords {
  /** The generation of each record that is new, by its id. */
  created: Map<string, number>;
  /** The records that were there before, by their scoped key. */
  known: Map<string, RecordRow>;
}

/** The same for hundreds of rows: of new records, only what the caller does not know is read back. */
export async function submitManyRecords(db: Database, rows: readonly NewRecord[]): Promise<ManyRecords> {
  const { rows: submitted } = await sql<{ id: string; generation: number; created: boolean }>`
    select (record).id, (record).generation, created
    from submit_records(${JSON.stringify(rows)}::jsonb)`.execute(db);
  const created = new Map(submitted.filter((row) => row.created).map((row) => [row.id, row.generation]));
  // Whatever expires before it is read here is missing from both, like what expired before the statement.
  const ids = submitted.filter((row) => !row.created).map((row) => row.id);
  const records = ids.length > 0 ? await findRecords(db, ids) : [];
  return { created, known: new Map(records.map((record) => [scopedKeyOf(record), record])) };
}

export async function findRecords(db: Database, ids: readonly string[]): Promise<RecordRow[]> {
  const result = await sql<RecordRow>`select * from records where id = any (${ids}::uuid[])`.execute(db);
  return result.rows;
}

/** Takes the records that are not settled: their epoch grows, so that whoever held them before can no longer finish. */
export async function claimRecords(
  tx: DatabaseTransaction,
  ids: readonly string[],
  actor: string,
): Promise<RecordRow[]> {
  const result = await sql<RecordRow>`select * from claim_records(${ids}::uuid[], ${actor})`.execute(tx);
  return result.rows;
}

/** Settles claimed records under the fence, with their audit rows and events; throws if a claim was lost. */
export async function finishRecords(
  tx: DatabaseTransaction,
  outcomes: readonly Outcome[],
  actor: string,
): Promise<RecordRow[]> {
  const result = await sql<RecordRow>`
    select * from finish_records(
      array(select o from jsonb_populate_recordset(null::record_outcome, ${JSON.stringify(outcomes)}::jsonb) o),
      ${actor})`.execute(tx);
  return result.rows;
}

/** Puts a claimed record back in the queue for its next attempt. Undefined if the claim was lost. */
export async function requeueRecord(
  tx: DatabaseTransaction,
  claim: { id: string; epoch: number },
  next: { delayMs: number; countsAsAttempt: boolean },
): Promise<RecordRow | undefined> {
  return await tx
    .updateTable('records')
    .set((eb) => ({
      status: 'QUEUED',
      transitions: eb('transitions', '+', 1),
      attempts: eb('attempts', '-', next.countsAsAttempt ? 0 : 1),
      next_attempt_at: sql<Date>`now() + make_interval(secs => ${next.delayMs / 1000})`,
      updated_at: sql<Date>`now()`,
    }))
    .where('id', '=', claim.id)
    .where('epoch', '=', claim.epoch)
    .where('status', '=', 'PROCESSING')
    .returningAll()
    .executeTakeFirst();
}

/** Makes a failed record run again as its next generation. Undefined if someone else was faster. */
export async function reviveRecord(
  tx: DatabaseTransaction,
  failed: { id: string; generation: number },
): Promise<RecordRow | undefined> {
  return await tx
    .updateTable('records')
    .set((eb) => ({
      status: 'QUEUED',
      generation: eb('generation', '+', 1),
      transitions: eb('transitions', '+', 1),
      attempts: 0,
      error: null,
      next_attempt_at: null,
      settled_at: null,
      expires_at: null,
      updated_at: sql<Date>`now()`,
    }))
    .where('id', '=', failed.id)
    .where('generation', '=', failed.generation)
    .where('status', '=', 'FAILED')
    .returningAll()
    .executeTakeFirst();
}

export async function addReplays(db: Database, counts: ReadonlyMap<string, number>): Promise<void> {
  await sql`
    update records r set replays = r.replays + n.count
    from unnest(${[...counts.keys()]}::uuid[], ${[...counts.values()]}::integer[]) as n (id, count)
    where r.id = n.id`.execute(db);
}
