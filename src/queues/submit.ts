import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../errors.ts';
import type { HitFailpoint } from '../failpoints.ts';
import type { Metrics } from '../metrics.ts';
import { type Database, isDatabaseUnavailable } from '../store/database.ts';
import { GroupedCalls } from '../store/grouped-calls.ts';
import {
  type NewRecord,
  type RecordRow,
  type SubmittedRecord,
  submitManyRecords,
  submitRecords,
} from '../store/records.ts';
import { isCacheable, isExpired, type Results, type StoredResult, toStoredResult } from '../store/results.ts';
import { type KeyScope, scopedKeyOf } from '../store/scoped-key.ts';
import { type Enqueueing, type Enqueuer, relayAfterMs } from './enqueue.ts';
import { fingerprintOf } from './fingerprint.ts';
import { newIds } from './new-ids.ts';
import { operationsQueue } from './queues.ts';
import type { ReplayCounter } from './replay-counter.ts';
import type { RequestCounter } from './request-counter.ts';
import { reviveFailed } from './revive-failed.ts';
import {
  type GroupSubmitted,
  inOrderOf,
  inTime,
  isCachedLater,
  type KeyIdentity,
  keyScopeOf,
  outcomeOf,
  pending,
  type Submission,
  type Submitted,
  settled,
  toError,
  toGroupSubmitted,
  toJob,
} from './submission.ts';

export type { GroupSubmitted, KeyIdentity, Submission, Submitted } from './submission.ts';

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
/** Nobody sits and waits for one of many lines, and hundreds of rows take longer than one. */
const groupTimeoutMs = 5_000;
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
      this.#parts.metrics.intake.count(name, 'failed', undefined, startedMs);
      throw error;
    });
    if (!record.created && record.settled_at) {
      return this.#counted(name, await this.#answerSettled(submission, row, record), false, startedMs);
    }
    if (!record.created) {
      return this.#counted(name, pending(row, record, { enqueued: true, duplicate: true }), false, startedMs);
    }
    this.#parts.metrics.intake.count(name, 'created', undefined, startedMs);
    this.#parts.requestCounter.count(name, 'new');
    return pending(row, record, { enqueued: await this.#enqueue(row, record), duplicate: false });
  }

  /**
   * The same for many at once: one insert and one addBulk. The caches are left alone: new rows are not in them, and a
   * file that is sent again would push out what single requests come back for.
   */
  async submitGroup(submissions: readonly Submission[]): Promise<(GroupSubmitted | Error)[]> {
    const startedMs = performance.now();
    const { intake } = this.#parts.metrics;
    const ids = newIds(submissions.length);
    const rows = submissions.map((each, index) =>
      this.#toRow(each, fingerprintOf(each.operation.name, each.request), ids[index]),
    );
    const found = await inTime(submitManyRecords(this.#parts.db, rows), groupTimeoutMs).catch((error: unknown) => {
      for (const row of rows) intake.count(row.operation, 'failed', undefined, startedMs);
      throw error;
    });
    const jobs: Enqueueing[] = [];
    for (const row of rows) {
      const generation = found.created.get(row.id);
      if (generation === undefined) continue;
      jobs.push(toJob(row, generation));
      intake.count(row.operation, 'created', undefined, startedMs);
      this.#parts.requestCounter.count(row.operation, 'new');
    }
    if (jobs.length > 0) this.#parts.hitFailpoint('submit.committed');
    await this.#parts.enqueuer.enqueueAll(jobs);
    const settle = (row: NewRecord, index: number): GroupSubmitted | Promise<GroupSubmitted | Error> => {
      if (found.created.has(row.id)) return { recordId: row.id, status: 'QUEUED', mismatch: false, duplicate: false };
      const record = found.known.get(row.job_id);
      if (record && record.status !== 'FAILED') return this.#toDuplicate(row, record, startedMs);
      // To be run again; or its key expired in between. Either is rare enough to go the way of a single one.
      return this.submit(submissions[index] as Submission).then(toGroupSubmitted, toError);
    };
    return await Promise.all(rows.map(settle));
  }

  #toDuplicate(row: NewRecord, record: RecordRow, startedMs: number): GroupSubmitted {
    const submitted = record.settled_at
      ? settled(row.job_id, row.fingerprint, toStoredResult(record))
      : pending(row, record, { enqueued: true, duplicate: true });
    return { ...toGroupSubmitted(this.#counted(row.operation, submitted, undefined, startedMs)), record };
  }

  /** Counts a request whose key was known. `cacheHit` is undefined where no cache was asked. */
  #counted(operation: string, submitted: Submitted, cacheHit: boolean | undefined, startedMs: number): Submitted {
    const { duplicate, mismatch, recordId } = submitted;
    if (duplicate && !mismatch) this.#parts.replayCounter.count(recordId);
    const kind = mismatch ? 'mismatch' : duplicate ? 'duplicate' : 'new';
    const miss = cacheHit === false && isCachedLater(submitted) ? 'miss' : undefined;
    const cache = cacheHit ? 'hit' : miss;
    this.#parts.requestCounter.count(operation, kind, cache);
    this.#parts.metrics.intake.count(operation, outcomeOf(submitted), cache, startedMs);
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

  #toRow(submission: Submission, fingerprint: string, id = uuidv7()): NewRecord {
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
    const record = await inTime(insert(), intakeTimeoutMs);
    if (record.created) this.#parts.hitFailpoint('submit.committed');
    return record;
  }

  async #enqueue(row: NewRecord, record: SubmittedRecord): Promise<boolean> {
    return await this.#parts.enqueuer.enqueue(toJob(row, record.generation));
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
