import { setTimeout as pause } from 'node:timers/promises';
import { addAudit } from '../store/audit.ts';
import { isTransient, sqlStateOf } from '../store/database.ts';
import { addEvents } from '../store/events.ts';
import { lockRecord, putInDoubt, settleDoubt } from '../store/record-repairs.ts';
import { claimRecords, fenceLostCode, finishRecords, type RecordRow } from '../store/records.ts';
import type { ExternalOperation } from './define-operation.ts';
import type { Engine } from './engine.ts';
import { finishAsUnknown, outcomeUnknown, putOff, recordFailure } from './fail-attempt.ts';
import { NothingHappened, type ProcessOutcome, type Rejected, rejected, type Succeeded } from './outcomes.ts';
import type { Settled } from './settle.ts';
import { toOutcome } from './to-outcome.ts';

// biome-ignore lint/suspicious/noExplicitAny: the request type is only known inside the operation's own file.
type AnyExternal = ExternalOperation<any>;

/** How a call to another system ended. */
type Ended = { kind: 'answered'; outcome: ProcessOutcome } | { kind: 'nothing-happened' | 'in-doubt'; error: unknown };

/** What a call found out exists only in this process until it is written: a failover of Postgres is worth waiting for. */
const rememberMs = 30_000;
const againMs = 1_000;

/** Commits the attempt, makes the call, and commits what became of it. */
export async function settleExternal(
  engine: Engine,
  operation: AnyExternal,
  { id }: RecordRow,
  signal: AbortSignal,
): Promise<Settled> {
  const claim = await claimForCall(engine, operation, id);
  if (claim.kind !== 'claimed') return claim;
  engine.hitFailpoint('run.claimed');
  const ended = await call(operation, claim.record, signal);
  engine.hitFailpoint('run.before-commit');
  return await writeDown(engine, operation, claim.record, ended);
}

/** A record that is PROCESSING was in the hands of a worker that is gone: its call may have been made. */
async function claimForCall(
  engine: Engine,
  operation: AnyExternal,
  id: string,
): Promise<Settled | { kind: 'claimed'; record: RecordRow }> {
  try {
    return await engine.db.transaction().execute(async (tx) => {
      const before = await lockRecord(tx, id);
      if (!before) return { kind: 'again', delayMs: 0 };
      if (before.settled_at) return { kind: 'settled', record: before };
      if (before.status === 'PROCESSING' && operation.external === 'at-most-once') {
        const record = await putInDoubt(tx, id, outcomeUnknown);
        await addAudit(tx, record, { from: 'PROCESSING', actor: engine.actor, detail: { workerGone: true } });
        engine.log.error({ operationId: id, operation: operation.name }, 'the worker is gone: the outcome is unknown');
        return { kind: 'settled', record };
      }
      const [record] = await claimRecords(tx, [id], engine.actor);
      return record ? { kind: 'claimed', record } : { kind: 'again', delayMs: 0 };
    });
  } catch (error) {
    if (!isTransient(error)) throw error;
    engine.log.warn({ err: error, operationId: id }, 'put off');
    return { kind: 'again', delayMs: againMs };
  }
}

/** Never throws: an error says how the call ended. */
async function call(operation: AnyExternal, record: RecordRow, signal: AbortSignal): Promise<Ended> {
  const parsed = operation.request.safeParse(record.request);
  if (!parsed.success) {
    const outcome = rejected('INVALID_REQUEST', 'The stored request does not fit the operation.');
    return { kind: 'answered', outcome };
  }
  try {
    const outcome = await operation.process(parsed.data, { record, effectKey: record.id, signal });
    return { kind: 'answered', outcome };
  } catch (error) {
    return { kind: error instanceof NothingHappened ? 'nothing-happened' : 'in-doubt', error };
  }
}

/** Writes what became of the call, and again if Postgres is away. If that is in vain, the claim stays and tells enough. */
async function writeDown(engine: Engine, operation: AnyExternal, record: RecordRow, ended: Ended): Promise<Settled> {
  const untilMs = Date.now() + rememberMs;
  for (;;) {
    try {
      return await write(engine, operation, record, ended);
    } catch (error) {
      if (sqlStateOf(error) === fenceLostCode) return await writeLate(engine, operation, record, ended);
      engine.log.warn({ err: error, operationId: record.id }, 'the outcome of a call could not be written');
      if (!isTransient(error) || Date.now() >= untilMs) return { kind: 'again', delayMs: againMs };
    }
    await pause(againMs);
  }
}

async function write(engine: Engine, operation: AnyExternal, claimed: RecordRow, ended: Ended): Promise<Settled> {
  if (ended.kind !== 'answered') {
    const inDoubt = ended.kind === 'in-doubt';
    if (inDoubt && operation.external === 'at-most-once') {
      return await engine.db.transaction().execute((tx) => finishAsUnknown(engine, tx, claimed, ended.error));
    }
    return await recordFailure(engine, operation, { id: claimed.id, claimed, error: ended.error, inDoubt });
  }
  const { outcome } = ended;
  if (outcome.kind === 'retry-later') return await putOff(engine, claimed, outcome.delayMs);
  const [record] = await engine.db
    .transaction()
    .execute((tx) => finishRecords(tx, [toOutcome(claimed, outcome, ttlOf(engine, operation))], engine.actor));
  return record ? { kind: 'settled', record } : { kind: 'again', delayMs: 0 };
}

/** This worker was taken for dead and comes back with the truth. It counts, unless somebody decided meanwhile. */
async function writeLate(engine: Engine, operation: AnyExternal, claimed: RecordRow, ended: Ended): Promise<Settled> {
  const again: Settled = { kind: 'again', delayMs: 0 };
  if (ended.kind !== 'answered' || ended.outcome.kind === 'retry-later') return again;
  const outcome: Succeeded | Rejected = ended.outcome;
  return await engine.db.transaction().execute(async (tx) => {
    const before = await lockRecord(tx, claimed.id);
    // The epoch after ours is that of whoever found us gone: the doubt is about our call and no other.
    if (before?.status !== 'UNKNOWN' || before.epoch !== claimed.epoch + 1) return again;
    const { events, detail: _, ...truth } = toOutcome(before, outcome, ttlOf(engine, operation));
    const record = await settleDoubt(tx, truth);
    await addAudit(tx, record, { from: 'UNKNOWN', actor: engine.actor, detail: { late: true } });
    await addEvents(tx, record, events);
    return { kind: 'settled', record };
  });
}

function ttlOf(engine: Engine, operation: AnyExternal): number {
  return operation.recordTtlSeconds ?? engine.recordTtlSeconds;
}
