import Redlock, { ExecutionError, type Lock, ResourceLockedError } from 'redlock';
import type { RedisClient } from './redis.ts';

export interface HeldLock {
  /** Aborted when the lock could not be kept: someone else may be at work by now. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Locks save work, they prove nothing: what keeps an effect from happening twice is the fence in Postgres. */
export class Locks {
  readonly #redlock: Redlock;
  readonly #prefix: string;
  readonly #durationMs: number;

  constructor(redis: RedisClient, prefix: string, durationMs: number) {
    // No retries: a worker never sits and waits for a lock, its job is put off instead.
    this.#redlock = new Redlock([redis], { retryCount: 0 });
    this.#redlock.on('error', () => undefined); // The same errors reach the caller of acquire.
    this.#prefix = prefix;
    this.#durationMs = durationMs;
  }

  /** The lock, or 'held' if another worker has one of the names. Throws if Redis cannot tell. */
  async acquire(names: readonly string[]): Promise<HeldLock | 'held'> {
    try {
      const lock = await this.#redlock.acquire(
        names.map((name) => `${this.#prefix}:lock:${name}`),
        this.#durationMs,
      );
      return this.#keep(lock);
    } catch (error) {
      if (await isHeldElsewhere(error)) return 'held';
      throw error;
    }
  }

  #keep(first: Lock): HeldLock {
    const lost = new AbortController();
    let lock = first;
    // Extended at half time: one extension may be slow before the lock is gone.
    const timer = setInterval(() => {
      lock
        .extend(this.#durationMs)
        .then((extended) => {
          lock = extended;
        })
        .catch((error) => lost.abort(error));
    }, this.#durationMs / 2);
    const release = async () => {
      clearInterval(timer);
      // A lock that expired or that Redis lost has nothing left to release.
      await lock.release().catch(() => undefined);
    };
    return { signal: lost.signal, release };
  }
}

async function isHeldElsewhere(error: unknown): Promise<boolean> {
  if (error instanceof ResourceLockedError) return true;
  if (!(error instanceof ExecutionError)) return false;
  const attempts = await Promise.all(error.attempts);
  return attempts.some((attempt) =>
    [...attempt.votesAgainst.values()].some((vote) => vote instanceof ResourceLockedError),
  );
}
