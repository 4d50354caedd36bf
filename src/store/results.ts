import type { RecordError, RecordRow, RecordStatus } from './records.ts';
import type { RedisClient } from './redis.ts';

/** What is needed to answer for a settled record, wherever it comes from: memory, Redis or Postgres. */
export interface StoredResult {
  recordId: string;
  operation: string;
  generation: number;
  fingerprint: string;
  status: RecordStatus;
  responseStatus: number | null;
  responseBody: string | null;
  error: RecordError | null;
  resourceId: string | null;
  expiresAtMs: number | null;
}

export function toStoredResult(record: RecordRow): StoredResult {
  return {
    recordId: record.id,
    operation: record.operation,
    generation: record.generation,
    fingerprint: record.fingerprint,
    status: record.status,
    responseStatus: record.response_status,
    responseBody: record.response_body,
    error: record.error,
    resourceId: record.resource_id,
    expiresAtMs: record.expires_at?.getTime() ?? null,
  };
}

/** Only these never change again. A FAILED record may run again, an UNKNOWN one is yet to be resolved. */
export function isCacheable(result: StoredResult): boolean {
  return result.status === 'SUCCEEDED' || result.status === 'REJECTED';
}

export function isExpired(result: StoredResult): boolean {
  return result.expiresAtMs !== null && result.expiresAtMs <= Date.now();
}

/** A Redis that hangs costs each look-up its timeout; this often one request finds out whether it is back. */
const awayPauseMs = 1_000;

/** Results in Redis, and the channels over which a worker tells an API process that waits. */
export class Results {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #ttlSeconds: number;
  #awayUntilMs = 0;

  constructor(redis: RedisClient, prefix: string, ttlSeconds: number) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#ttlSeconds = ttlSeconds;
  }

  /** The channel of one API process. */
  replyChannel(instanceId: string): string {
    return `${this.#prefix}:reply:${instanceId}`;
  }

  /** The channel of one record, for whoever attached to it from another API process. */
  recordChannel(recordId: string): string {
    return `${this.#prefix}:settled:${recordId}`;
  }

  /** Whether what comes over the channel is a result. A process listens to other news too. */
  isResultChannel(channel: string): boolean {
    return channel.startsWith(this.replyChannel('')) || channel.startsWith(this.recordChannel(''));
  }

  /** The cached result. A Redis that is away is an empty cache, and is left alone for a moment. */
  async find(scopedKey: string): Promise<StoredResult | undefined> {
    if (Date.now() < this.#awayUntilMs) return undefined;
    try {
      const text = await this.#redis.get(this.#cacheKey(scopedKey));
      const result = text ? (JSON.parse(text) as StoredResult) : undefined;
      return result && !isExpired(result) ? result : undefined;
    } catch {
      this.#awayUntilMs = Date.now() + awayPauseMs;
      return undefined;
    }
  }

  /** Keeps the result and tells whoever waits, in one write to Redis. */
  async announce(scopedKey: string, result: StoredResult, replyTo: string | undefined): Promise<void> {
    const text = JSON.stringify(result);
    const pipeline = this.#redis.pipeline();
    if (isCacheable(result)) pipeline.set(this.#cacheKey(scopedKey), text, 'PX', this.#lifetimeMs(result));
    if (replyTo) pipeline.publish(this.replyChannel(replyTo), text);
    pipeline.publish(this.recordChannel(result.recordId), text);
    const replies = await pipeline.exec();
    const failure = replies?.find(([error]) => error)?.[0];
    if (failure) throw failure;
  }

  /** Caches what was found in Postgres, if Redis is there. */
  async keep(scopedKey: string, result: StoredResult): Promise<void> {
    const key = this.#cacheKey(scopedKey);
    await this.#redis.set(key, JSON.stringify(result), 'PX', this.#lifetimeMs(result)).catch(() => undefined);
  }

  #lifetimeMs(result: StoredResult): number {
    const untilExpiryMs = (result.expiresAtMs ?? Number.POSITIVE_INFINITY) - Date.now();
    return Math.max(1, Math.floor(Math.min(this.#ttlSeconds * 1000, untilExpiryMs)));
  }

  #cacheKey(scopedKey: string): string {
    return `${this.#prefix}:result:${scopedKey}`;
  }
}
