import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Database } from '../store/database.ts';
import { findRecords } from '../store/records.ts';
import type { RedisClient } from '../store/redis.ts';
import { type Results, type StoredResult, toStoredResult } from '../store/results.ts';

export interface WaiterParts {
  db: Database;
  subscriber: RedisClient;
  results: Results;
  instanceId: string;
  log: Logger;
}

interface Waiting {
  sinceMs: number;
  listeners: Set<(result: StoredResult | undefined) => void>;
}

/** How often Postgres is asked about those who still wait. It covers a message that was lost, which is rare. */
const pollIntervalMs = 1_000;
/** Between the reply to an enqueueing and the wait for its result lies one turn of the event loop, however busy. */
const earlyMs = 5_000;

/** Waits for results: a worker tells over Redis, and a slow poll of Postgres covers what gets lost. */
export class ResultWaiter {
  readonly #parts: WaiterParts;
  readonly #waiting = new Map<string, Waiting>();
  /** Results that came before anyone listened: a worker can be quicker than the reply to our own enqueueing. */
  readonly #early = new LRUCache<string, StoredResult>({ max: 10_000, ttl: earlyMs });
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: WaiterParts) {
    this.#parts = parts;
    parts.subscriber.on('message', (channel: string, message: string) => {
      if (parts.results.isResultChannel(channel)) this.#onMessage(message);
    });
    this.#subscribe(parts.results.replyChannel(parts.instanceId));
  }

  /** The result of a record that this process enqueued, or undefined when the time is up. */
  async waitFor(recordId: string, timeoutMs: number): Promise<StoredResult | undefined> {
    const early = this.#early.get(recordId);
    if (early) return early;
    return await this.#listen(recordId, timeoutMs);
  }

  /** The same for a record that somebody else enqueued: its result may have come out before we listen. */
  async attachTo(recordId: string, timeoutMs: number): Promise<StoredResult | undefined> {
    const channel = this.#parts.results.recordChannel(recordId);
    const result = this.#listen(recordId, timeoutMs);
    this.#subscribe(channel).then(() => this.#check([recordId]));
    try {
      return await result;
    } finally {
      if (!this.#waiting.has(recordId)) this.#parts.subscriber.unsubscribe(channel).catch(() => undefined);
    }
  }

  /** Ends every wait without a result, as if its time were up. */
  release(): void {
    for (const { listeners } of [...this.#waiting.values()]) for (const listener of [...listeners]) listener(undefined);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #listen(recordId: string, timeoutMs: number): Promise<StoredResult | undefined> {
    const waiting = this.#waiting.get(recordId) ?? { sinceMs: Date.now(), listeners: new Set() };
    this.#waiting.set(recordId, waiting);
    this.#timer ??= setInterval(() => this.#poll(), pollIntervalMs);
    return new Promise((resolve) => {
      const end = (result: StoredResult | undefined) => {
        clearTimeout(timer);
        waiting.listeners.delete(end);
        if (waiting.listeners.size === 0) this.#forget(recordId);
        resolve(result);
      };
      const timer = setTimeout(() => end(undefined), timeoutMs);
      waiting.listeners.add(end);
    });
  }

  #forget(recordId: string): void {
    this.#waiting.delete(recordId);
    if (this.#waiting.size === 0) this.close();
  }

  #onMessage(message: string): void {
    try {
      this.#deliver(JSON.parse(message) as StoredResult);
    } catch (error) {
      this.#parts.log.error({ err: error }, 'a message on a result channel was not understood');
    }
  }

  #deliver(result: StoredResult): void {
    const waiting = this.#waiting.get(result.recordId);
    if (!waiting) this.#early.set(result.recordId, result);
    for (const listener of [...(waiting?.listeners ?? [])]) listener(result);
  }

  #poll(): void {
    const before = Date.now() - pollIntervalMs;
    const ids = [...this.#waiting].filter(([, waiting]) => waiting.sinceMs <= before).map(([id]) => id);
    if (ids.length > 0) void this.#check(ids);
  }

  async #check(ids: readonly string[]): Promise<void> {
    try {
      const records = await findRecords(this.#parts.db, ids);
      for (const record of records) if (record.settled_at) this.#deliver(toStoredResult(record));
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'results could not be looked up');
    }
  }

  /** Without Redis the poll alone answers, a little later. */
  async #subscribe(channel: string): Promise<void> {
    await this.#parts.subscriber.subscribe(channel).catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'not subscribed');
    });
  }
}
