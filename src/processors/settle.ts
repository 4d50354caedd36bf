import type { DatabaseTransaction } from '../store/database.ts';
import { claimRecords, finishRecords, type RecordRow } from '../store/records.ts';
import type { AnyOperation, ProcessContext } from './define-operation.ts';
import { type Engine, isNobodysFault } from './engine.ts';
import { putOff, recordFailure } from './fail-attempt.ts';
import { type ProcessOutcome, type Rejected, type RetryLater, rejected, type Succeeded } from './outcomes.ts';
import { settleExternal } from './settle-external.ts';
import { toOutcome } from './to-outcome.ts';

/** The record has its final state, or its job is to come back. */
export type Settled = { kind: 'settled'; record: RecordRow } | { kind: 'again'; delayMs: number };

/** Postgres was away, or another worker took over: a pause that does not hammer and is hardly felt. */
const transientDelayMs = 1_000;

/** Claims the record, processes it and commits effect and final state together. A failure is recorded, not thrown. */
export async function settle(
  engine: Engine,
  operation: AnyOperation,
  record: RecordRow,
  signal: AbortSignal,
): Promise<Settled> {
  if (operation.external) return await settleExternal(engine, operation, record, signal);
  const startedMs = Date.now();
  let claimed: RecordRow | undefined;
  try {
    const parsed = operation.request.safeParse(record.request);
    if (parsed.success && 'processGroup' in operation) {
      const settled = await engine.settleInGroup(operation.name, record.id);
      return settled ? { kind: 'settled', record: settled } : await lookAgain(engine, record.id);
    }
    if ('process' in operation && operation.claim === 'first') {
      claimed = await engine.db.transaction().execute((tx) => claimRecord(engine, tx, record.id));
      if (!claimed) return await lookAgain(engine, record.id);
      engine.hitFailpoint('run.claimed');
    }
    const process = async (context: ProcessContext) =>
      parsed.success && 'process' in operation
        ? await operation.process(parsed.data, context)
        : rejected('INVALID_REQUEST', 'The stored request does not fit the operation.');
    return await commit(engine, operation, { id: record.id, claimed, signal, process });
  } catch (error) {
    return await handleFailure(engine, operation, { record, claimed, startedMs, error });
  }
}

interface Work {
  id: string;
  claimed: RecordRow | undefined;
  signal: AbortSignal;
  process: (context: ProcessContext) => Promise<ProcessOutcome>;
}

/** Thrown to roll the transaction back: what `process` wrote before it said no, or not now, must not stay. */
class RolledBack extends Error {
  readonly outcome: Rejected | RetryLater;
  constructor(outcome: Rejected | RetryLater) {
    super(outcome.kind);
    this.outcome = outcome;
  }
}

/** The transaction in which effect, final state, audit rows and events commit together, under the fence. */
async function commit(engine: Engine, operation: AnyOperation, work: Work): Promise<Settled> {
  return await finish(engine, operation, work, async (tx, record) => {
    const outcome = await work.process({ tx, record, signal: work.signal });
    if (outcome.kind !== 'succeeded') throw new RolledBack(outcome);
    return outcome;
  });
}

async function finish(
  engine: Engine,
  operation: AnyOperation,
  work: Pick<Work, 'id' | 'claimed'>,
  decide: (tx: DatabaseTransaction, record: RecordRow) => Promise<Succeeded | Rejected>,
): Promise<Settled> {
  const finished = await engine.db.transaction().execute(async (tx) => {
    const record = work.claimed ?? (await claimRecord(engine, tx, work.id));
    if (!record) return undefined;
    const outcome = await decide(tx, record);
    engine.hitFailpoint('run.before-commit');
    const ttlSeconds = operation.recordTtlSeconds ?? engine.recordTtlSeconds;
    const [settled] = await finishRecords(tx, [toOutcome(record, outcome, ttlSeconds)], engine.actor);
    return settled;
  });
  return finished ? { kind: 'settled', record: finished } : await lookAgain(engine, work.id);
}

async function handleFailure(
  engine: Engine,
  operation: AnyOperation,
  failure: { record: RecordRow; claimed: RecordRow | undefined; startedMs: number; error: unknown },
): Promise<Settled> {
  const { record, claimed, startedMs, error } = failure;
  try {
    if (error instanceof RolledBack) {
      const { outcome } = error;
      if (outcome.kind === 'retry-later') return await putOff(engine, claimed, outcome.delayMs);
      return await finish(engine, operation, { id: record.id, claimed }, async () => outcome);
    }
    // Postgres ends a transaction that is idle for longer than the lock, so work that slow is at fault itself.
    const isTooSlow = Date.now() - startedMs >= engine.lockDurationMs;
    if (isTooSlow || !isNobodysFault(error)) {
      return await recordFailure(engine, operation, { id: record.id, claimed, error });
    }
    engine.log.warn({ err: error, operationId: record.id }, 'put off');
    return await putOff(engine, claimed, transientDelayMs);
  } catch (second) {
    // Whatever happened, the record is not settled: the job comes back and finds it as it is.
    engine.log.error({ err: second, operationId: record.id }, 'the failure could not be recorded');
  }
  return { kind: 'again', delayMs: transientDelayMs };
}

async function claimRecord(engine: Engine, tx: DatabaseTransaction, id: string): Promise<RecordRow | undefined> {
  const [record] = await claimRecords(tx, [id], engine.actor);
  return record;
}

/** Someone else was faster: their outcome is the answer. */
async function lookAgain(engine: Engine, id: string): Promise<Settled> {
  const record = await engine.lookUpRecord(id);
  return record?.settled_at ? { kind: 'settled', record } : { kind: 'again', delayMs: transientDelayMs };
}
