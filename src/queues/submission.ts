import { AppError } from '../errors.ts';
import type { SubmissionOutcome } from '../metrics.ts';
import type { AnyOperation } from '../processors/define-operation.ts';
import { isDatabaseUnavailable } from '../store/database.ts';
import { withDeadline } from '../store/deadline.ts';
import type { NewRecord, RecordRow, RecordStatus, SubmittedRecord } from '../store/records.ts';
import { isCacheable, type StoredResult } from '../store/results.ts';
import { type KeyScope, scopedKeyOf, toJobId } from '../store/scoped-key.ts';
import type { Enqueueing } from './enqueue.ts';

/** Whose key it is, and of what. */
export interface KeyIdentity {
  client: string;
  subClient: string;
  operation: AnyOperation;
  /** Undefined for an operation that was sent without a key: it runs once for this request. */
  key: string | undefined;
}

export interface Submission extends KeyIdentity {
  request: unknown;
  /** Whether someone will wait for the result in this process. */
  awaited: boolean;
}

/** What became of a submission: the answer is there, or a record stands in the queue for it. */
export type Submitted = { scopedKey: string; recordId: string; mismatch: boolean; duplicate: boolean } & (
  | { kind: 'settled'; result: StoredResult }
  | { kind: 'pending'; record: RecordRow; enqueued: boolean }
);

/** What became of one of many. */
export interface GroupSubmitted {
  recordId: string;
  status: RecordStatus;
  mismatch: boolean;
  duplicate: boolean;
  /** The record that was there before, where it was read. */
  record?: RecordRow;
}

/** An answer that came from Postgres and would have been in the cache if that had room and time for all. */
export function isCachedLater(submitted: Submitted): boolean {
  return submitted.kind === 'settled' && isCacheable(submitted.result);
}

export function toJob(row: NewRecord, generation: number): Enqueueing {
  const data = { recordId: row.id, ...(row.reply_to !== null && { replyTo: row.reply_to }) };
  const jobId = toJobId(row.job_id, generation);
  return { queue: row.queue, outboxId: row.outbox_id, job: { name: row.operation, jobId, data } };
}

export function toGroupSubmitted(submitted: Submitted): GroupSubmitted {
  const { recordId, mismatch, duplicate } = submitted;
  if (submitted.kind === 'settled') return { recordId, status: submitted.result.status, mismatch, duplicate };
  return { recordId, status: submitted.record.status, mismatch, duplicate, record: submitted.record };
}

export async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return await withDeadline(work, timeoutMs, () => unavailable('did not answer in time')).catch((error: unknown) => {
    throw isDatabaseUnavailable(error) ? unavailable('cannot be reached', error) : error;
  });
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Whether the record was written before the connection broke, only a retry with the same key can tell. */
function unavailable(why: string, cause?: unknown): AppError {
  const detail = `The database ${why}. Send the request again with the same key.`;
  return new AppError('UNAVAILABLE', detail, { extra: { effect: 'unknown' }, cause });
}

export function outcomeOf({ mismatch, duplicate, kind }: Submitted): SubmissionOutcome {
  if (mismatch) return 'mismatched';
  if (!duplicate) return 'revived';
  return kind === 'settled' ? 'replayed' : 'attached';
}

export function keyScopeOf({ client, subClient, operation, key }: KeyIdentity, id: string): KeyScope {
  return { id, client, sub_client: subClient, operation: operation.name, key: key ?? null };
}

export function settled(scopedKey: string, fingerprint: string, result: StoredResult): Submitted {
  const mismatch = result.fingerprint !== fingerprint;
  return { kind: 'settled', scopedKey, recordId: result.recordId, result, mismatch, duplicate: true };
}

export function pending(row: NewRecord, record: RecordRow, how: { enqueued: boolean; duplicate: boolean }): Submitted {
  const mismatch = record.fingerprint !== row.fingerprint;
  const { enqueued, duplicate } = how;
  return { kind: 'pending', scopedKey: row.job_id, recordId: record.id, record, mismatch, enqueued, duplicate };
}

/** A created record has the row's id; one that was there before is found by its key. */
export function inOrderOf(
  rows: readonly NewRecord[],
  records: readonly SubmittedRecord[],
): (SubmittedRecord | undefined)[] {
  const byId = new Map(records.filter((record) => record.created).map((record) => [record.id, record]));
  const byKey = new Map(records.filter((record) => !record.created).map((record) => [scopedKeyOf(record), record]));
  return rows.map((row) => byId.get(row.id) ?? byKey.get(row.job_id));
}
