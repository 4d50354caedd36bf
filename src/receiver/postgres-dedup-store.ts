import {
  createDedupTable,
  deleteExpiredDedup,
  finishDedup,
  type Kysely,
  type PostgresPool,
  releaseDedup,
  takeDedup,
  toKysely,
} from '../store/dedup.ts';
import { type DedupKey, type DedupStore, type DedupStoreOptions, readStoreOptions, type Taken } from './dedup-store.ts';
import { takeInPostgres } from './take-in-postgres.ts';

export interface PostgresDedupStoreOptions<DB> extends DedupStoreOptions {
  /** A pool of `pg`, or a database of `kysely`. */
  db: Kysely<DB> | PostgresPool;
}

/** Thirty days: for what must be recognised, and looked up, long after. */
export const defaultPostgresTtlMs = 30 * 24 * 60 * 60 * 1000;

/** Short enough that a batch holds its locks for milliseconds. */
const defaultBatchSize = 1_000;

/** Remembers messages in the table `dedup`. Each method is one statement, removal one for each batch. */
export class PostgresDedupStore<DB = unknown> implements DedupStore {
  readonly leaseMs: number;
  readonly maxResultBytes: number;
  readonly #db: Kysely<DB>;
  readonly #ttlMs: number;

  constructor({ db, ...options }: PostgresDedupStoreOptions<DB>) {
    const { ttlMs, leaseMs, maxResultBytes } = readStoreOptions(options, defaultPostgresTtlMs);
    this.#db = toKysely(db);
    this.#ttlMs = ttlMs;
    this.leaseMs = leaseMs;
    this.maxResultBytes = maxResultBytes;
  }

  /** Creates the table if it is not there. Semel's own database has it. */
  async createTable(): Promise<void> {
    await createDedupTable(this.#db);
  }

  async take(key: DedupKey, token: string): Promise<Taken> {
    return await takeInPostgres(() => takeDedup(this.#db, key, { token, leaseMs: this.leaseMs }));
  }

  async finish(key: DedupKey, token: string, result: string): Promise<boolean> {
    return await finishDedup(this.#db, key, { token, result, ttlMs: this.#ttlMs });
  }

  async release(key: DedupKey, token: string): Promise<void> {
    await releaseDedup(this.#db, key, token);
  }

  async removeExpired({ batchSize = defaultBatchSize }: { batchSize?: number } = {}): Promise<number> {
    if (!Number.isSafeInteger(batchSize) || batchSize < 1)
      throw new RangeError('batchSize must be a positive integer.');
    for (let total = 0; ; ) {
      const removed = await deleteExpiredDedup(this.#db, batchSize);
      total += removed;
      if (removed < batchSize) return total;
    }
  }
}
