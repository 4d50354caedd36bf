import { buryRecord } from '../processors/fail-attempt.ts';
import type { Registry } from '../processors/registry.ts';
import { addAudit, findLastAudit } from '../store/audit.ts';
import { type Database, type DatabaseTransaction, sqlStateOf } from '../store/database.ts';
import { removeDeadLetterOf } from '../store/dead-letters.ts';
import { addEvents } from '../store/events.ts';
import { addToOutbox } from '../store/outbox.ts';
import { lockNotAvailableCode, lockRecord, restartRecord, settleDoubt } from '../store/record-repairs.ts';
import type { RecordRow, RecordStatus } from '../store/records.ts';
import { jobIdOf } from '../store/scoped-key.ts';
import { type Enqueuer, relayAfterMs } from './enqueue.ts';
import { operationsQueue } from './queues.ts';

export interface RepairParts {
  db: Database;
  enqueuer: Enqueuer;
  registry: Registry;
  recordTtlSeconds: number;
}

export interface Repair {
  id: string;
  /** Who does it, for the audit trail. */
  actor: string;
  note?: string | undefined;
}

export type RepairResult =
  | { kind: 'done'; record: RecordRow }
  | { kind: 'refused'; record: RecordRow; why: string }
  | { kind: 'missing' }
  /** A worker is inside the transaction of its effect. Postgres ends it if it says nothing for too long. */
  | { kind: 'busy' };

/** Makes a record that is stuck or has failed run again. Whoever worked on it before can no longer finish. */
export async function resetRecord(
  parts: RepairParts,
  repair: Repair & { from?: readonly RecordStatus[]; generation?: number },
): Promise<RepairResult> {
  const reset = await withLockedRecord(parts, repair.id, async (tx, before) => {
    const why = whyNotReset(parts, before, repair);
    if (why !== undefined) return { kind: 'refused', record: before, why } as const;
    const record = await restartRecord(tx, before.id);
    // An attempt that is cut off here may have had its effect. If the next ones fail, that is not forgotten.
    const inDoubt = before.status === 'PROCESSING' && externalPolicyOf(parts, before) !== undefined;
    const detail = { generation: record.generation, note: repair.note, ...(inDoubt && { inDoubt }) };
    await addAudit(tx, record, { from: before.status, actor: repair.actor, detail });
    await removeDeadLetterOf(tx, record.id);
    const job = { name: record.operation, jobId: jobIdOf(record), data: { recordId: record.id } };
    const outboxId = await addToOutbox(tx, { queue: operationsQueue, ...job, delayMs: relayAfterMs });
    return { kind: 'done', record, outboxId, job } as const;
  });
  if (reset.kind === 'done') {
    await parts.enqueuer.enqueue({ queue: operationsQueue, outboxId: reset.outboxId, job: reset.job });
  }
  return reset;
}

const resettable: readonly RecordStatus[] = ['QUEUED', 'PROCESSING', 'FAILED'];

function whyNotReset(
  parts: RepairParts,
  before: RecordRow,
  { from = resettable, generation }: { from?: readonly RecordStatus[]; generation?: number },
): string | undefined {
  if (before.status === 'UNKNOWN') return 'Nobody can tell whether its effect happened. Resolve it first.';
  if (!from.includes(before.status) || (generation !== undefined && generation !== before.generation)) {
    return `The record is ${before.status}, which does not allow this.`;
  }
  if (!parts.registry.has(before.operation)) return `No operation is named ${before.operation} any more.`;
  const isCalling = before.status === 'PROCESSING' && externalPolicyOf(parts, before) === 'at-most-once';
  if (isCalling) return 'It calls another system at most once. If its worker is gone, it will be UNKNOWN soon.';
  return undefined;
}

function externalPolicyOf({ registry }: RepairParts, record: RecordRow) {
  return registry.get(record.operation)?.external;
}

export interface Resolution {
  outcome: 'applied' | 'not_applied';
}

/** A person found out what became of an effect in doubt. Said again, it is the same; the contrary is refused. */
export async function resolveRecord(parts: RepairParts, repair: Repair & Resolution): Promise<RepairResult> {
  const status = repair.outcome === 'applied' ? 'SUCCEEDED' : 'FAILED';
  return await withLockedRecord(parts, repair.id, async (tx, before): Promise<RepairResult> => {
    if (before.status !== 'UNKNOWN') {
      const last = await findLastAudit(tx, before.id);
      if (last?.from_status === 'UNKNOWN' && before.status === status) return { kind: 'done', record: before };
      return { kind: 'refused', record: before, why: `The record is ${before.status}; only UNKNOWN can be resolved.` };
    }
    const ttlSeconds = parts.registry.get(before.operation)?.recordTtlSeconds ?? parts.recordTtlSeconds;
    const isApplied = status === 'SUCCEEDED';
    const record = await settleDoubt(tx, {
      id: before.id,
      status,
      // What the other system answered is lost. The client learns that it happened.
      response_status: isApplied ? 200 : null,
      response_body: isApplied ? JSON.stringify({ operationId: before.id, outcome: 'applied' }) : null,
      error: isApplied ? null : notApplied,
      resource_type: null,
      resource_id: null,
      ttl_seconds: ttlSeconds,
    });
    const detail = { outcome: repair.outcome, note: repair.note };
    await addAudit(tx, record, { from: 'UNKNOWN', actor: repair.actor, detail });
    if (!isApplied) await failAsResolved(tx, record);
    return { kind: 'done', record };
  });
}

async function withLockedRecord<T>(
  { db }: RepairParts,
  id: string,
  work: (tx: DatabaseTransaction, before: RecordRow) => Promise<T>,
): Promise<T | { kind: 'missing' } | { kind: 'busy' }> {
  try {
    return await db.transaction().execute(async (tx) => {
      const before = await lockRecord(tx, id);
      return before ? await work(tx, before) : { kind: 'missing' };
    });
  } catch (error) {
    if (sqlStateOf(error) === lockNotAvailableCode) return { kind: 'busy' };
    throw error;
  }
}

const notApplied = {
  code: 'OPERATION_FAILED',
  message: 'It did not happen, as a person found out. Sent again with the same key, it runs again.',
};

/** It is now like any record that gave up: its client hears of it, and it can be retried from the dead letters. */
async function failAsResolved(tx: DatabaseTransaction, record: RecordRow): Promise<void> {
  const { id: operationId, operation, key } = record;
  const data = { operationId, operation, key, code: notApplied.code };
  await addEvents(tx, record, [{ type: 'operation.failed', data }]);
  await buryRecord(tx, record, { ...notApplied, message: 'resolved as not applied' });
}
