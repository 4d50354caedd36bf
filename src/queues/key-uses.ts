import type { Logger } from 'pino';
import { noteApiKeyUses } from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';

const flushIntervalMs = 1_000;

/** Notes which API keys were used, and writes that in groups. It is told when a key is looked up, not at every request. */
export class KeyUses {
  readonly #db: Database;
  readonly #log: Logger;
  #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  note(id: string): void {
    this.#ids.add(id);
    this.#timer ??= setTimeout(() => void this.flush(), flushIntervalMs);
  }

  /** What cannot be written is noted again at the next look-up. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ids = [...this.#ids];
    this.#ids = new Set();
    if (ids.length === 0) return;
    await noteApiKeyUses(this.#db, ids).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the use of API keys was not noted');
    });
  }
}
