import { LRUCache } from 'lru-cache';
import { type DedupKey, type DedupStore, type DedupStoreOptions, readStoreOptions, type Taken } from './dedup-store.ts';

export interface LruDedupStoreOptions extends DedupStoreOptions {
  /** The results that were asked for least recently make room for new ones. */
  maxEntries?: number;
  maxBytes?: number;
  /** Milliseconds since any moment; for tests. */
  now?: () => number;
}

/** Five minutes: a process forgets at its end anyway, and memory is dear. */
const defaultTtlMs = 5 * 60 * 1000;

interface Entry {
  token: string;
  expiresAtMs: number;
}

/** Remembers messages in this process. Other processes, and this one after a restart, know nothing of them. */
export class LruDedupStore implements DedupStore {
  readonly leaseMs: number;
  readonly maxResultBytes: number;
  readonly #ttlMs: number;
  readonly #now: () => number;
  // Apart from the results: what is in flight must not be forgotten because much else is done.
  readonly #inFlight = new Map<string, Entry>();
  readonly #done: LRUCache<string, Entry & { result: string }>;

  constructor(options: LruDedupStoreOptions = {}) {
    // Bounds that a small process can spare; both are reached only by a flood or by large results.
    const { maxEntries = 10_000, maxBytes = 64 * 1024 * 1024, now = () => performance.now(), ...rest } = options;
    const { ttlMs, leaseMs, maxResultBytes } = readStoreOptions(rest, defaultTtlMs);
    if (maxBytes < maxResultBytes) throw new RangeError('maxBytes must be at least maxResultBytes.');
    this.#ttlMs = ttlMs;
    this.#now = now;
    this.leaseMs = leaseMs;
    this.maxResultBytes = maxResultBytes;
    this.#done = new LRUCache({
      max: maxEntries,
      maxSize: maxBytes,
      sizeCalculation: ({ result }) => Math.max(1, Buffer.byteLength(result)),
    });
  }

  async take(key: DedupKey, token: string): Promise<Taken> {
    const name = nameOf(key);
    const done = this.#done.get(name);
    if (done && this.#isValid(done)) return { state: 'done', result: done.result };
    const held = this.#inFlight.get(name);
    if (held && held.token !== token && this.#isValid(held)) {
      return { state: 'in-flight', freeInMs: Math.ceil(held.expiresAtMs - this.#now()) };
    }
    this.#inFlight.set(name, { token, expiresAtMs: this.#now() + this.leaseMs });
    return { state: 'taken' };
  }

  async finish(key: DedupKey, token: string, result: string): Promise<boolean> {
    const name = nameOf(key);
    for (const entry of [this.#inFlight.get(name), this.#done.peek(name)]) {
      if (entry && entry.token !== token && this.#isValid(entry)) return false;
    }
    this.#inFlight.delete(name);
    this.#done.set(name, { token, result, expiresAtMs: this.#now() + this.#ttlMs });
    return true;
  }

  async release(key: DedupKey, token: string): Promise<void> {
    const name = nameOf(key);
    if (this.#inFlight.get(name)?.token === token) this.#inFlight.delete(name);
  }

  /** All at once, whatever the size of the batch: it is only memory. */
  async removeExpired(): Promise<number> {
    let removed = 0;
    for (const entries of [this.#inFlight, this.#done]) {
      for (const [name, entry] of [...entries.entries()]) {
        if (!this.#isValid(entry) && entries.delete(name)) removed += 1;
      }
    }
    return removed;
  }

  #isValid(entry: Entry): boolean {
    return entry.expiresAtMs > this.#now();
  }
}

function nameOf({ namespace, id }: DedupKey): string {
  return `${namespace}:${id}`;
}
