import type { DedupKey } from '../store/dedup.ts';

export type { DedupKey } from '../store/dedup.ts';

export type Taken =
  | { readonly state: 'taken' }
  | { readonly state: 'in-flight'; readonly freeInMs: number }
  | { readonly state: 'done'; readonly result: string };

/**
 * Where receivers remember what they have seen. A message is free, in flight under a token until the lease ends, or
 * done until its time to live ends. Every method is atomic, and throws only if the store is away.
 */
export interface DedupStore {
  readonly leaseMs: number;
  readonly maxResultBytes: number;
  /** Takes a free message. One that is held under the same token is held for another lease. */
  take(key: DedupKey, token: string): Promise<Taken>;
  /** Keeps the result. False if somebody else has taken the message since. May be repeated. */
  finish(key: DedupKey, token: string, result: string): Promise<boolean>;
  /** Makes the message free, if it is still held under this token. */
  release(key: DedupKey, token: string): Promise<void>;
  /** Removes what has expired, so many at a time, and says how much it was. It is ignored in any case. */
  removeExpired(options?: { batchSize?: number }): Promise<number>;
}

export interface DedupStoreOptions {
  /** How long a result is kept. */
  ttlMs?: number;
  /** How long a message stays in flight after its holder was last heard of. */
  leaseMs?: number;
  maxResultBytes?: number;
}

/** A holder that lives prolongs its lease every ten seconds, so this is how long the messages of a dead one wait. */
const defaultLeaseMs = 30_000;

/** A day. A longer lease is more likely a mistake in the unit than meant. */
const longestLeaseMs = 86_400_000;

/** Far more than an answer should be, and little enough that a few of them do no harm to any store. */
const defaultMaxResultBytes = 8 * 1024 * 1024;

export function readStoreOptions(options: DedupStoreOptions, defaultTtlMs: number): Required<DedupStoreOptions> {
  const { ttlMs = defaultTtlMs, leaseMs = defaultLeaseMs, maxResultBytes = defaultMaxResultBytes } = options;
  for (const [name, value] of Object.entries({ ttlMs, leaseMs, maxResultBytes })) {
    if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} must be a positive integer.`);
  }
  if (leaseMs > longestLeaseMs) throw new RangeError(`leaseMs must be at most ${longestLeaseMs}.`);
  return { ttlMs, leaseMs, maxResultBytes };
}
