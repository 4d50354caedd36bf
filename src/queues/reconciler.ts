import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import type { Database } from '../store/database.ts';
import { listUnsettled, type UnsettledRecord } from '../store/record-queries.ts';
import type { RedisClient } from '../store/redis.ts';
import { jobIdOf } from '../store/scoped-key.ts';
import { operationsQueue, type Queues } from './queues.ts';

export interface ReconcilerParts {
  db: Database;
  queues: Queues;
  redis: RedisClient;
  prefix: string;
  log: Logger;
  hitFailpoint: HitFailpoint;
}

const pageSize = 1_000;
/** A long backlog is walked over several rounds, so that one round stays short. */
const pagesPerRound = 5;
/** Younger records are still on their way through the fast path or the relay. */
const untouchedMs = 5_000;

/**
 * Finds records that are not settled and whose job Redis no longer knows, and puts them back. Each round goes on
 * where the last one ended. After a loss of Redis, which its marker tells, one round walks through all of them.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  #after: string | undefined;
  #distrustsRedis = true;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
    // A Redis that restarted may have lost its last second or everything.
    parts.redis.on('close', () => {
      this.#distrustsRedis = true;
    });
  }

  /** One round. Returns how many jobs were put back. */
  async reconcile(): Promise<number> {
    this.#parts.hitFailpoint('reconcile.begun');
    const walkAll = await this.#mayHaveLostJobs();
    if (walkAll) this.#after = undefined;
    let restored = 0;
    for (let page = 0; walkAll || page < pagesPerRound; page += 1) {
      const records = await this.#nextPage();
      restored += await this.#restoreMissing(records);
      if (this.#after === undefined) break;
    }
    if (walkAll) await this.#leaveMarker();
    if (restored > 0) this.#parts.log.warn({ restored }, 'jobs that Redis had lost were put back');
    return restored;
  }

  async #nextPage(): Promise<UnsettledRecord[]> {
    const records = await listUnsettled(this.#parts.db, { after: this.#after, untouchedMs, limit: pageSize });
    this.#after = records.length === pageSize ? records.at(-1)?.id : undefined;
    return records;
  }

  async #restoreMissing(records: readonly UnsettledRecord[]): Promise<number> {
    if (records.length === 0) return 0;
    const queue = this.#parts.queues.get(operationsQueue);
    const pipeline = this.#parts.redis.pipeline();
    for (const record of records) pipeline.hmget(queue.toKey(jobIdOf(record)), 'timestamp', 'finishedOn');
    const replies = (await pipeline.exec()) ?? [];
    const missing = records.filter((_, index) => !isAlive(replies[index]));
    if (missing.length === 0) return 0;
    // A job that BullMQ holds to be finished would swallow the new one.
    await Promise.all(missing.map((record) => queue.remove(jobIdOf(record))));
    await this.#parts.queues.add(operationsQueue, missing.map(toDraft));
    return missing.length;
  }

  async #mayHaveLostJobs(): Promise<boolean> {
    if (this.#distrustsRedis) return true;
    return (await this.#parts.redis.exists(this.#markerKey)) === 0;
  }

  /** Gone after a FLUSHALL or an empty restart, whoever notices first. */
  async #leaveMarker(): Promise<void> {
    await this.#parts.redis.set(this.#markerKey, '1');
    this.#distrustsRedis = false;
  }

  get #markerKey(): string {
    return `${this.#parts.prefix}:has-jobs`;
  }
}

/** The reply to HMGET timestamp, finishedOn. An error counts as alive: nothing is put back on a guess. */
export function isAlive(reply: [error: Error | null, result: unknown] | undefined): boolean {
  if (!reply || reply[0]) return true;
  const [timestamp, finishedOn] = reply[1] as (string | null)[];
  return timestamp !== null && finishedOn === null;
}

function toDraft(record: UnsettledRecord) {
  const data = { recordId: record.id };
  return { name: record.operation, jobId: jobIdOf(record), data, delayMs: record.due_in_ms };
}
