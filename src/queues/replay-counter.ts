import type { Logger } from 'pino';
import type { Database } from '../store/database.ts';
import { addReplays } from '../store/records.ts';

/** At most this often are counts written, so that a storm of replays costs a handful of updates. */
const flushIntervalMs = 1_000;

/** Counts how often each record was asked for again, and writes the counts in groups. */
export class ReplayCounter {
  readonly #db: Database;
  readonly #log: Logger;
  #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  count(recordId: string): void {
    this.#counts.set(recordId, (this.#counts.get(recordId) ?? 0) + 1);
    this.#timer ??= setTimeout(() => void this.flush(), flushIntervalMs);
  }

  /** Writes what is counted so far. Also called before a record is shown and when the process ends. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#counts.size > 0) this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  async #write(): Promise<void> {
    const counts = this.#counts;
    this.#counts = new Map();
    try {
      await addReplays(this.#db, counts);
    } catch (error) {
      this.#log.warn({ err: error }, 'replay counts kept for later');
      for (const [id, count] of counts) this.#counts.set(id, (this.#counts.get(id) ?? 0) + count);
    }
  }
}
