import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../errors.ts';
import type { HitFailpoint } from '../failpoints.ts';
import type { Metrics, SubmissionOutcome } from '../metrics.ts';
import type { AnyOperation } from '../processors/define-operation.ts';
import { type Database, isDatabaseUnavailable } from '../store/database.ts';
import { withDeadline } from '../store/deadline.ts';
import { GroupedCalls } from '../store/grouped-calls.ts';
import { type NewRecord, type RecordRow, type SubmittedRecord, submitRecords } from '../store/records.ts';
import { isCacheable, isExpired, type Results, type StoredResult, toStoredResult } from '../store/results.ts';
import { jobIdOf, type KeyScope, scopedKeyOf } from '../store/scoped-key.ts';
import { type Enqueuer, relayAfterMs } from './enqueue.ts';
import { fingerprintOf } from './fingerprint.ts';
import { operationsQueue } from './queues.ts';
import type { ReplayCounter } from './replay-counter.ts';
import type { RequestCounter } from './request-counter.ts';
import { reviveFailed } from './revive-failed.ts';

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

export interface SubmitParts {
  db: Database;
  results: Results;
  enqueuer: Enqueuer;
  log: Logger;
  hitFailpoint: HitFailpoint;
  instanceId: string;
  replayCounter: ReplayCounter;
  requestCounter: RequestCounter;
  metrics: Pick<Metrics, 'intake'>;
}

interface Remembered {
  result: StoredResult;
  /** The text of a request that this answers. */
  text: string | undefined;
}

/** A record is on disk within this time or the client is told to try again. With less, a slow disk would cause 503s. */
const intakeTimeoutMs = 1_800;
/** A few thousand answers of usual size, for as long as retries usually come. */
const rememberedBytes = 64 * 1024 * 1024;
const rememberedMs = 5 * 60 * 1000;

/** The way in: from a request to a record that is committed, exactly one for each key. */
export class Submitter {
  readonly #parts: SubmitParts;
  readonly #inserts: GroupedCalls<NewRecord, SubmittedRecord | undefined>;
  readonly #remembered = new LRUCache<string, Remembered>({
    maxSize: rememberedBytes,
    ttl: rememberedMs,
    sizeCalculation: ({ result, text }) => 500 + (result.responseBody?.length ?? 0) + (text?.length ?? 0),
  });

  constructor(parts: SubmitParts) {
    this.#parts = parts;
    this.#inserts = new GroupedCalls({
      run: async (rows) => inOrderOf(rows, await submitRecords(parts.db, rows)),
      maxGroupSize: 500,
      // Two: while one group commits, the next one is already being written.
      concurrency: 2,
      mayBlameOneItem: (error) => !isDatabaseUnavailable(error),
    });
  }

  async submit(submission: Submission): Promise<Submitted> {
    const startedMs = performance.now();
    const { name } = submission.operation;
    const fingerprint = fingerprintOf(name, submission.request);
    const known = submission.key === undefined ? undefined : await this.#findKnown(keyScopeOf(submission, ''));
    if (known) return this.#counted(name, settled(known.scopedKey, fingerprint, known.result), true, startedMs);

    const row = this.#toRow(submission, fingerprint);
    const record = await this.#insert(row).catch((error: unknown) => {
      this.#parts.metrics.intake.count(name, 'failed', false, startedMs);
      throw error;
    });
    if (!record.created && record.settled_at) {
      return this.#counted(name, await this.#answerSettled(submission, row, record), false, startedMs);
    }
    if (!record.created) {
      return this.#counted(name, pending(row, record, { enqueued: true, duplicate: true }), false, startedMs);
    }
    this.#parts.metrics.intake.count(name, 'created', false, startedMs);
    this.#parts.requestCounter.count(name, 'new');
    return pending(row, record, { enqueued: await this.#enqueue(row, record), duplicate: false });
  }

  /** Counts a request whose key was known. */
  #counted(operation: string, submitted: Submitted, cacheHit: boolean, startedMs: number): Submitted {
    const { duplicate, mismatch, recordId } = submitted;
    if (duplicate && !mismatch) this.#parts.replayCounter.count(recordId);
    const kind = mismatch ? 'mismatch' : duplicate ? 'duplicate' : 'new';
    this.#parts.requestCounter.count(operation, kind, cacheHit ? 'hit' : isCachedLater(submitted) ? 'miss' : undefined);
    this.#parts.metrics.intake.count(operation, outcomeOf(submitted), cacheHit, startedMs);
    return submitted;
  }

  /** Keeps an answer in memory, with the text of its request, so that a retry to this process costs next to nothing. */
  remember(scopedKey: string, result: StoredResult, text?: string): void {
    if (!isCacheable(result)) return;
    const known = this.#remembered.peek(scopedKey);
    if (known?.result !== result || known.text !== text) this.#remembered.set(scopedKey, { result, text });
  }

  /** The answer to a request that is the same, letter by letter, as one that was answered: it need not even be parsed. */
  recall(identity: KeyIdentity & { key: string }, text: string): Submitted | undefined {
    const startedMs = performance.now();
    const scopedKey = scopedKeyOf(keyScopeOf(identity, ''));
    const remembered = this.#remembered.get(scopedKey);
    if (!remembered || remembered.text !== text || isExpired(remembered.result)) return undefined;
    const answer = settled(scopedKey, remembered.result.fingerprint, remembered.result);
    return this.#counted(identity.operation.name, answer, true, startedMs);
  }

  #toRow(submission: Submission, fingerprint: string): NewRecord {
    const id = uuidv7();
    const scope = keyScopeOf(submission, id);
    return {
      ...scope,
      fingerprint,
      request: submission.request,
      actor: `client:${submission.client}`,
      outbox_id: id,
      queue: operationsQueue,
      job_id: scopedKeyOf(scope),
      reply_to: submission.awaited ? this.#parts.instanceId : null,
      relay_after_ms: relayAfterMs,
    };
  }

  /** Memory, then Redis. Either may be empty or away; Postgres has the last word. */
  async #findKnown(scope: KeyScope): Promise<{ scopedKey: string; result: StoredResult } | undefined> {
    const scopedKey = scopedKeyOf(scope);
    const remembered = this.#remembered.get(scopedKey);
    if (remembered && !isExpired(remembered.result)) return { scopedKey, result: remembered.result };
    const result = await this.#parts.results.find(scopedKey);
    if (!result) return undefined;
    this.remember(scopedKey, result);
    return { scopedKey, result };
  }

  async #insert(row: NewRecord): Promise<SubmittedRecord> {
    const insert = async () => {
      // None comes back if the record of this key expired in between; then the key is free and the next try takes it.
      const record = (await this.#inserts.call(row)) ?? (await this.#inserts.call(row));
      if (!record) throw new AppError('UNAVAILABLE', 'The key is changing hands. Try again.');
      return record;
    };
    const record = await withDeadline(insert(), intakeTimeoutMs, () => unavailable('did not answer in time')).catch(
      (error: unknown) => {
        throw isDatabaseUnavailable(error) ? unavailable('cannot be reached', error) : error;
      },
    );
    if (record.created) this.#parts.hitFailpoint('submit.committed');
    return record;
  }

  async #enqueue(row: NewRecord, record: SubmittedRecord): Promise<boolean> {
    const data = { recordId: row.id, ...(row.reply_to !== null && { replyTo: row.reply_to }) };
    const job = { name: row.operation, jobId: jobIdOf(record), data };
    return await this.#parts.enqueuer.enqueue({ queue: row.queue, outboxId: row.outbox_id, job });
  }

  async #answerSettled(submission: Submission, row: NewRecord, record: SubmittedRecord): Promise<Submitted> {
    if (record.status === 'FAILED' && record.fingerprint === row.fingerprint) {
      const revived = await reviveFailed(this.#parts, record, submission.awaited ? this.#parts.instanceId : undefined);
      if (!revived.record.settled_at) return pending(row, revived.record, revived);
      return settled(row.job_id, row.fingerprint, toStoredResult(revived.record));
    }
    const result = toStoredResult(record);
    this.remember(row.job_id, result);
    if (isCacheable(result)) void this.#parts.results.keep(row.job_id, result);
    return settled(row.job_id, row.fingerprint, result);
  }
}

/** An answer that came from Postgres and would have been in the cache if that had room and time for all. */
function isCachedLater(submitted: Submitted): boolean {
  return submitted.kind === 'settled' && isCacheable(submitted.result);
}

/** Whether the record was written before the connection broke, only a retry with the same key can tell. */
function unavailable(why: string, cause?: unknown): AppError {
  const detail = `The database ${why}. Send the request again with the same key.`;
  return new AppError('UNAVAILABLE', detail, { extra: { effect: 'unknown' }, cause });
}

function outcomeOf({ mismatch, duplicate, kind }: Submitted): SubmissionOutcome {
  if (mismatch) return 'mismatched';
  if (!duplicate) return 'revived';
  return kind === 'settled' ? 'replayed' : 'attached';
}

function keyScopeOf({ client, subClient, operation, key }: KeyIdentity, id: string): KeyScope {
  return { id, client, sub_client: subClient, operation: operation.name, key: key ?? null };
}

function settled(scopedKey: string, fingerprint: string, result: StoredResult): Submitted {
  const mismatch = result.fingerprint !== fingerprint;
  return { kind: 'settled', scopedKey, recordId: result.recordId, result, mismatch, duplicate: true };
}

function pending(row: NewRecord, record: RecordRow, how: { enqueued: boolean; duplicate: boolean }): Submitted {
  const mismatch = record.fingerprint !== row.fingerprint;
  const { enqueued, duplicate } = how;
  return { kind: 'pending', scopedKey: row.job_id, recordId: record.id, record, mismatch, enqueued, duplicate };
}

/** A created record has the row's id; one that was there before is found by its key. */
function inOrderOf(rows: readonly NewRecord[], records: readonly SubmittedRecord[]): (SubmittedRecord | undefined)[] {
  const byId = new Map(records.filter((record) => record.created).map((record) => [record.id, record]));
  const byKey = new Map(records.filter((record) => !record.created).map((record) => [scopedKeyOf(record), record]));
  return rows.map((row) => byId.get(row.id) ?? byKey.get(row.job_id));
}
