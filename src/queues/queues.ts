import { type JobsOptions, Queue } from 'bullmq';
import type { RedisClient } from '../store/redis.ts';
import { earlierTimeMs } from './earlier-time.ts';

export const operationsQueue = 'operations';
export const notificationsQueue = 'notifications';

/** What a job says. The request itself stays in Postgres, where the truth is. */
export interface OperationJobData {
  recordId: string;
  replyTo?: string;
}

export interface JobDraft {
  name: string;
  jobId: string;
  data: Record<string, unknown>;
  delayMs?: number;
}

/**
 * Finished jobs are kept for a look in the queue UI, not for their results. Attempts are counted in Postgres, so
 * BullMQ itself tries once.
 */
export const jobOptions: JobsOptions = {
  attempts: 1,
  removeOnComplete: { count: 1_000, age: 3_600 },
  removeOnFail: { count: 10_000, age: 7 * 86_400 },
};

/**
 * How the job of a worker that went silent is taken over: after the lock and one check at most, which is 9.6 s with the
 * default lock of 8 s. BullMQ would fail a job that stalls again; whoever runs it decides that, so it never does here.
 */
export function takeoverOptions(lockDurationMs: number) {
  return {
    lockDuration: lockDurationMs,
    stalledInterval: Math.ceil(lockDurationMs / 5),
    maxStalledCount: Number.MAX_SAFE_INTEGER,
  };
}

/** The queues as producers see them, opened on first use. */
export class Queues {
  readonly #queues = new Map<string, Queue>();
  readonly #connection: RedisClient;
  readonly #prefix: string;
  readonly #onError: (error: Error) => void;

  constructor(connection: RedisClient, prefix: string, onError: (error: Error) => void) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#onError = onError;
  }

  get(name: string): Queue {
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection: this.#connection, prefix: this.#prefix });
    queue.on('error', this.#onError);
    this.#queues.set(name, queue);
    queue.waitUntilReady().catch((error: Error) => this.#forget(name, queue, error));
    return queue;
  }

  /** A queue whose first question to Redis failed would give that failure as its answer for ever. The next use begins anew. */
  #forget(name: string, queue: Queue, error: Error): void {
    this.#onError(error);
    if (this.#queues.get(name) === queue) this.#queues.delete(name);
    queue.close().catch(this.#onError);
  }

  /** Adds jobs. One whose id BullMQ still knows is left as it is. */
  async add(queue: string, drafts: readonly JobDraft[]): Promise<void> {
    const isAnyDelayed = drafts.some(({ delayMs }) => delayMs);
    const timestamp = isAnyDelayed ? await earlierTimeMs(this.#connection) : undefined;
    await this.get(queue).addBulk(
      drafts.map(({ name, data, jobId, delayMs }) => ({
        name,
        data,
        opts: { ...jobOptions, jobId, ...(delayMs && timestamp && { delay: delayMs, timestamp }) },
      })),
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
