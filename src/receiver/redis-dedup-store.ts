import type { Cluster, Redis } from 'ioredis';
import { type DedupKey, type DedupStore, type DedupStoreOptions, readStoreOptions, type Taken } from './dedup-store.ts';

export interface RedisDedupStoreOptions extends DedupStoreOptions {
  redis: Redis | Cluster;
  /** What all keys begin with. The braces are a hash tag, which brings them to one node of a cluster. */
  prefix?: string;
}

/** One hour: for messages that are frequent and come again soon or never. */
const defaultTtlMs = 60 * 60 * 1000;

// A value is `f<token>` while the message is in flight, and `d<token><result>` when it is done. A token has 36 characters.

const takeScript = `
local held = redis.call('GET', KEYS[1])
if not held or held == 'f' .. ARGV[1] then
  redis.call('SET', KEYS[1], 'f' .. ARGV[1], 'PX', ARGV[2])
  return {'taken'}
end
if string.sub(held, 1, 1) == 'd' then return {'done', string.sub(held, 38)} end
return {'in-flight', redis.call('PTTL', KEYS[1])}`;

const finishScript = `
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 2, 37) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], 'd' .. ARGV[1] .. ARGV[2], 'PX', ARGV[3])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == 'f' .. ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`;

/** Remembers messages in Redis, on one server or a cluster. Each method is one script with one key. */
export class RedisDedupStore implements DedupStore {
  readonly leaseMs: number;
  readonly maxResultBytes: number;
  readonly #redis: Redis | Cluster;
  readonly #prefix: string;
  readonly #ttlMs: number;

  constructor({ redis, prefix = '{semel}', ...options }: RedisDedupStoreOptions) {
    const { ttlMs, leaseMs, maxResultBytes } = readStoreOptions(options, defaultTtlMs);
    this.#redis = redis;
    this.#prefix = prefix;
    this.#ttlMs = ttlMs;
    this.leaseMs = leaseMs;
    this.maxResultBytes = maxResultBytes;
  }

  async take(key: DedupKey, token: string): Promise<Taken> {
    const reply = (await this.#redis.eval(takeScript, 1, this.#nameOf(key), token, this.leaseMs)) as [
      Taken['state'],
      (string | number)?,
    ];
    const [state, detail] = reply;
    if (state === 'done') return { state, result: String(detail) };
    // A negative time to live means that it ended at this very moment.
    return state === 'in-flight' ? { state, freeInMs: Math.max(0, Number(detail)) } : { state };
  }

  async finish(key: DedupKey, token: string, result: string): Promise<boolean> {
    return (await this.#redis.eval(finishScript, 1, this.#nameOf(key), token, result, this.#ttlMs)) === 1;
  }

  async release(key: DedupKey, token: string): Promise<void> {
    await this.#redis.eval(releaseScript, 1, this.#nameOf(key), token);
  }

  /** Redis removes what has expired by itself. */
  async removeExpired(): Promise<number> {
    return 0;
  }

  #nameOf({ namespace, id }: DedupKey): string {
    return `${this.#prefix}:dedup:${namespace}:${id}`;
  }
}
