import { setTimeout as pause } from 'node:timers/promises';
import { withDeadline } from '../store/deadline.ts';
import type { DedupKey, DedupStore, Taken } from './dedup-store.ts';

/** Longer than a busy store needs, shorter than most callers would wait. */
const defaultTimeoutMs = 2_000;

/** The work is done and only waits to be recorded, so a short absence of the store is worth waiting for. */
const pausesBeforeFinishMs = [0, 100, 400];

/** A store that hangs is away as well: it gets a time limit. */
export class TimedStore {
  readonly #store: DedupStore;
  readonly #timeoutMs: number;

  constructor(store: DedupStore, timeoutMs = defaultTimeoutMs) {
    this.#store = store;
    this.#timeoutMs = timeoutMs;
  }

  /** With `releaseIfLate`, a message that is taken after the time limit is made free again: nobody will handle it. */
  async take(key: DedupKey, token: string, { releaseIfLate = false } = {}): Promise<Taken> {
    const taking = this.#store.take(key, token);
    try {
      return await this.#inTime(taking);
    } catch (error) {
      // If the store cannot even do this, the end of the lease does.
      if (releaseIfLate) void taking.then(() => this.#store.release(key, token)).catch(() => undefined);
      throw error;
    }
  }

  async finish(key: DedupKey, token: string, result: string): Promise<boolean> {
    let failure: unknown;
    for (const pauseMs of pausesBeforeFinishMs) {
      if (pauseMs > 0) await pause(pauseMs);
      try {
        return await this.#inTime(this.#store.finish(key, token, result));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async release(key: DedupKey, token: string): Promise<void> {
    await this.#inTime(this.#store.release(key, token));
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    return await withDeadline(
      work,
      this.#timeoutMs,
      () => new Error(`The store did not answer within ${this.#timeoutMs} ms.`),
    );
  }
}
