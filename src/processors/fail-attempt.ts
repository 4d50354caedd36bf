import { AppError } from '../errors.ts';
import { addAudit, wasInDoubt } from '../store/audit.ts';
import type { DatabaseTransaction } from '../store/database.ts';
import { addDeadLetter } from '../store/dead-letters.ts';
import { addToOutbox } from '../store/outbox.ts';
import { claimRecords, finishRecords, type RecordError, type RecordRow, requeueRecord } from '../store/records.ts';
import { jobIdOf } from '../store/scoped-key.ts';
import type { AnyOperation } from './define-operation.ts';
import type { Engine } from './engine.ts';
import type { Settled } from './settle.ts';

export const deadLetterQueue = 'dead-letters';

/** The claim was lost or the record is settled: the job comes back at once and finds out which. */
const claimLost: Settled = { kind: 'again', delayMs: 0 };

interface Failure {
  id: string;
  /** The claim, if it was committed before the work began; otherwise it was rolled back and is made again. */
  claimed: RecordRow | undefined;
  error: unknown;
  /** True: the effect is external and may have happened. */
  inDoubt?: boolean;
}

/** What a client sees of a record in doubt. */
export const outcomeUnknown: RecordError = {
  code: 'OUTCOME_UNKNOWN',
  message: 'An attempt was cut off in the middle. A person has to say what became of it.',
};

/** Counts the attempt and puts the record back for the next one, or gives up after the last. */
export async function recordFailure(engine: Engine, operation: AnyOperation, failure: Failure): Promise<Settled> {
  const delaysMs = operation.retryDelaysMs ?? engine.retryDelaysMs;
  return await engine.db.transaction().execute(async (tx) => {
    const record = failure.claimed ?? (await claimRecords(tx, [failure.id], engine.actor))[0];
    if (!record) return claimLost;
    const delayMs = delaysMs[record.attempts - 1];
    if (delayMs === undefined) return await finishAsFailed(engine, tx, { ...failure, operation, record });
    const { error, inDoubt } = failure;
    const attempt = { attempt: record.attempts, error: messageOf(error), retryInMs: delayMs };
    const detail = inDoubt ? { ...attempt, inDoubt } : attempt;
    engine.log.warn({ err: failure.error, operationId: record.id, ...detail }, 'attempt failed');
    return await requeue(engine, tx, record, { delayMs, detail, countsAsAttempt: true });
  });
}

/** Gives up on a record whatever attempts it has left. */
export async function giveUp(
  engine: Engine,
  operation: AnyOperation,
  record: RecordRow,
  error: unknown,
): Promise<Settled> {
  return await engine.db.transaction().execute(async (tx) => {
    const [claimed] = await claimRecords(tx, [record.id], engine.actor);
    return claimed ? await finishAsFailed(engine, tx, { operation, record: claimed, error }) : claimLost;
  });
}

/** The operation asked for a pause. Its claim was rolled back with the transaction, unless it was committed first. */
export async function putOff(engine: Engine, claimed: RecordRow | undefined, delayMs: number): Promise<Settled> {
  if (!claimed) return { kind: 'again', delayMs };
  return await engine.db.transaction().execute(async (tx) => {
    return await requeue(engine, tx, claimed, { delayMs, detail: { putOffMs: delayMs }, countsAsAttempt: false });
  });
}

async function requeue(
  engine: Engine,
  tx: DatabaseTransaction,
  claimed: RecordRow,
  next: { delayMs: number; detail: unknown; countsAsAttempt: boolean },
): Promise<Settled> {
  const record = await requeueRecord(tx, claimed, next);
  if (!record) return claimLost;
  await addAudit(tx, record, { from: 'PROCESSING', actor: engine.actor, detail: next.detail });
  return { kind: 'again', delayMs: next.delayMs };
}

async function finishAsFailed(
  engine: Engine,
  tx: DatabaseTransaction,
  failure: { operation: AnyOperation; record: RecordRow; error: unknown; inDoubt?: boolean },
): Promise<Settled> {
  const { operation, record, error } = failure;
  if (operation.external && (failure.inDoubt || (await wasInDoubt(tx, record.id)))) {
    return await finishAsUnknown(engine, tx, record, error);
  }
  const shown = publicErrorOf(error);
  const internal = { code: shown.code, message: messageOf(error) };
  const event = { operationId: record.id, operation: record.operation, key: record.key, code: shown.code };
  const [failed] = await finishRecords(
    tx,
    [
      {
        id: record.id,
        epoch: record.epoch,
        status: 'FAILED',
        response_status: null,
        response_body: null,
        error: shown,
        resource_type: null,
        resource_id: null,
        events: [{ type: 'operation.failed', data: event }],
        ttl_seconds: operation.recordTtlSeconds ?? engine.recordTtlSeconds,
        detail: { attempt: record.attempts, error: internal.message },
      },
    ],
    engine.actor,
  );
  if (!failed) return claimLost;
  await buryRecord(tx, failed, internal);
  engine.log.error({ err: error, operationId: record.id, operation: record.operation }, 'gave up');
  return { kind: 'settled', record: failed };
}

/** An external effect may or may not have happened, and nothing more is tried: a person has to say. */
export async function finishAsUnknown(
  engine: Engine,
  tx: DatabaseTransaction,
  record: RecordRow,
  error: unknown,
): Promise<Settled> {
  const outcome = {
    id: record.id,
    epoch: record.epoch,
    status: 'UNKNOWN',
    response_status: null,
    response_body: null,
    error: outcomeUnknown,
    resource_type: null,
    resource_id: null,
    events: [],
    ttl_seconds: 0,
    detail: { attempt: record.attempts, error: messageOf(error) },
  } as const;
  const [unknown] = await finishRecords(tx, [outcome], engine.actor);
  engine.log.error({ err: error, operationId: record.id, operation: record.operation }, 'the outcome is unknown');
  return unknown ? { kind: 'settled', record: unknown } : claimLost;
}

/** A record that gave up: a row for operators, and a job to be seen in the queue UI. */
export async function buryRecord(tx: DatabaseTransaction, failed: RecordRow, error: RecordError): Promise<void> {
  const deadLetterId = await addDeadLetter(tx, failed, error);
  const data = { recordId: failed.id, deadLetterId, error };
  await addToOutbox(tx, { queue: deadLetterQueue, name: failed.operation, jobId: jobIdOf(failed), data, delayMs: 0 });
}

/** What a client may see. The message of an unexpected error stays in the log and in the dead letter. */
function publicErrorOf(error: unknown): RecordError {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return {
    code: 'OPERATION_FAILED',
    message: 'The operation failed after its last attempt. Sent again with the same key, it runs again.',
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
