import type { HeldLock } from '../store/locks.ts';
import type { RecordRow } from '../store/records.ts';
import { type StoredResult, toStoredResult } from '../store/results.ts';
import { scopedKeyOf } from '../store/scoped-key.ts';
import type { AnyOperation } from './define-operation.ts';
import type { Engine } from './engine.ts';
import { giveUp } from './fail-attempt.ts';
import { settle } from './settle.ts';

export interface OperationJob {
  recordId: string;
  /** The API process that waits for the answer, if one does. */
  replyTo: string | undefined;
  /** How often a worker died with this job in its hands. */
  stalls: number;
}

export type RunResult =
  | { kind: 'settled'; result: StoredResult }
  | { kind: 'again'; delayMs: number }
  | { kind: 'gone' };

/** A lock is held by a worker that is at work on the same record: look again soon. */
const lockedDelayMs = 500;
/** A job that took this many workers with it is the culprit. */
const maxStalls = 5;

/** The steps of every operation. Safe to run any number of times, also at the same time, for the same record. */
export async function runOperation(engine: Engine, job: OperationJob): Promise<RunResult> {
  const record = await engine.lookUpRecord(job.recordId);
  if (!record) return { kind: 'gone' };
  if (record.settled_at) return await announce(engine, job, record);

  const operation = engine.registry.get(record.operation);
  if (!operation) throw new Error(`no operation is named ${record.operation}`);

  const lock = await acquireLock(engine, operation, record);
  if (lock === 'held') return { kind: 'again', delayMs: lockedDelayMs };
  engine.hitFailpoint('run.locked');
  try {
    const settled =
      job.stalls < maxStalls
        ? await settle(engine, operation, record, lock?.signal ?? neverAborted)
        : await giveUp(engine, operation, record, new Error(`${job.stalls} workers died while they ran this`));
    if (settled.kind === 'again') return settled;
    engine.hitFailpoint('run.committed');
    const announced = await announce(engine, job, settled.record);
    engine.hitFailpoint('run.announced');
    return announced;
  } finally {
    await lock?.release();
  }
}

const neverAborted = new AbortController().signal;

/** Without Redis there is no lock, and the work goes on: the fence in Postgres does not need it. */
async function acquireLock(
  engine: Engine,
  operation: AnyOperation,
  record: RecordRow,
): Promise<HeldLock | 'held' | undefined> {
  const names = [record.id, ...(operation.lock?.(record.request) ?? [])];
  try {
    return await engine.locks.acquire(names);
  } catch (error) {
    engine.log.warn({ err: error, operationId: record.id }, 'running without a lock');
    return undefined;
  }
}

/** Caches the result and tells the waiter. Neither is needed for the truth, so a missing Redis only costs time. */
async function announce(engine: Engine, job: OperationJob, record: RecordRow): Promise<RunResult> {
  const result = toStoredResult(record);
  try {
    await engine.results.announce(scopedKeyOf(record), result, job.replyTo);
  } catch (error) {
    engine.log.warn({ err: error, operationId: record.id }, 'the result could not be announced');
  }
  return { kind: 'settled', result };
}
