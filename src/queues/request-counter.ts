import type { Logger } from 'pino';
import type { Database } from '../store/database.ts';
import { deleteOldRequestCounts, type RequestTotals, writeRequestCounts } from '../store/request-counts.ts';

/** At most this often are counts written. A process that is killed takes with it what it counted since. */
const flushIntervalMs = 1_000;
const hourMs = 3_600_000;

export type RequestKind = 'new' | 'duplicate' | 'mismatch';
/** Whether an answer that is kept for good came from memory or Redis, or had to be fetched from Postgres. */
export type CacheUse = 'hit' | 'miss';

/**
 * Counts the requests of each operation by hour. It keeps the totals of its process and writes them as they are: a
 * write that is made twice, because its reply was lost, counts nothing twice.
 */
export class RequestCounter {
  readonly #db: Database;
  readonly #process: string;
  readonly #log: Logger;
  readonly #hours = new Map<number, Map<string, RequestTotals>>();
  #changed = new Map<RequestTotals, { hour: number; operation: string }>();
  #trimmedHour = 0;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: { db: Database; instanceId: string; log: Logger }) {
    this.#db = parts.db;
    this.#process = parts.instanceId;
    this.#log = parts.log;
  }

  count(operation: string, kind: RequestKind, cache?: CacheUse): void {
    const totals = this.#totalsOf(Math.floor(Date.now() / hourMs), operation);
    totals.requests += 1;
    if (kind === 'duplicate') totals.duplicates += 1;
    if (kind === 'mismatch') totals.mismatches += 1;
    if (cache === 'hit') totals.cache_hits += 1;
    if (cache === 'miss') totals.cache_misses += 1;
    this.#plan();
  }

  /** Writes what is counted so far. Also called before the counts are shown and when the process ends. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#changed.size > 0) this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  /** The last flush. What it cannot write is lost with the process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  #plan(): void {
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.flush(), flushIntervalMs);
  }

  #totalsOf(hour: number, operation: string): RequestTotals {
    let operations = this.#hours.get(hour);
    if (!operations) {
      operations = new Map();
      this.#hours.set(hour, operations);
    }
    let totals = operations.get(operation);
    if (!totals) {
      totals = { requests: 0, duplicates: 0, mismatches: 0, cache_hits: 0, cache_misses: 0 };
      operations.set(operation, totals);
    }
    if (!this.#changed.has(totals)) this.#changed.set(totals, { hour, operation });
    return totals;
  }

  async #write(): Promise<void> {
    const changed = this.#changed;
    this.#changed = new Map();
    const rows = [...changed].map(([totals, { hour, operation }]) => {
      return { ...totals, hour: new Date(hour * hourMs), operation };
    });
    try {
      await writeRequestCounts(this.#db, this.#process, rows);
      await this.#forgetPast();
    } catch (error) {
      this.#log.warn({ err: error }, 'request counts kept for later');
      for (const [totals, about] of changed) this.#changed.set(totals, about);
      this.#plan();
    }
  }

  /** Hours that are over and written are needed no more: here after an hour of grace, as clocks may be set back. */
  async #forgetPast(): Promise<void> {
    const current = Math.floor(Date.now() / hourMs);
    if (this.#trimmedHour === current) return;
    const unwritten = new Set([...this.#changed.values()].map(({ hour }) => hour));
    for (const hour of this.#hours.keys()) if (hour < current - 1 && !unwritten.has(hour)) this.#hours.delete(hour);
    await deleteOldRequestCounts(this.#db);
    this.#trimmedHour = current;
  }
}
