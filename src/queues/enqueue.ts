import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import type { Metrics } from '../metrics.ts';
import type { Database } from '../store/database.ts';
import { withDeadline } from '../store/deadline.ts';
import { groupBy } from '../store/group-by.ts';
import { GroupedCalls } from '../store/grouped-calls.ts';
import { removeFromOutbox } from '../store/outbox.ts';
import type { JobDraft, Queues } from './queues.ts';

export interface Enqueueing {
  queue: string;
  outboxId: string;
  job: JobDraft;
}

/** The relay leaves a new row to the fast path for this long. */
export const relayAfterMs = 2_000;
/** How long the fast path may take. After that the relay brings the job, and the client gets its 202. */
const enqueueTimeoutMs = 1_000;
/** A row that is left is relayed, which does no harm. */
const removalTimeoutMs = 1_000;

/** The fast path between a committed record and its job. Whatever it misses stays in the outbox for the relay. */
export class Enqueuer {
  readonly #adds: GroupedCalls<Enqueueing, undefined>;
  readonly #removals: GroupedCalls<string, undefined>;
  readonly #db: Database;
  readonly #queues: Queues;
  readonly #metrics: Pick<Metrics, 'outboxPublishing'>;
  readonly #log: Logger;
  readonly #hitFailpoint: HitFailpoint;

  constructor(parts: {
    db: Database;
    queues: Queues;
    log: Logger;
    hitFailpoint: HitFailpoint;
    metrics: Pick<Metrics, 'outboxPublishing'>;
  }) {
    this.#db = parts.db;
    this.#queues = parts.queues;
    this.#metrics = parts.metrics;
    this.#log = parts.log;
    this.#hitFailpoint = parts.hitFailpoint;
    this.#adds = new GroupedCalls({ run: (items) => this.#addAll(items), maxGroupSize: 500, concurrency: 1 });
    this.#removals = new GroupedCalls({
      run: async (ids): Promise<undefined[]> => {
        await removeFromOutbox(parts.db, ids);
        return [];
      },
      maxGroupSize: 1_000,
      concurrency: 1,
    });
  }

  /** True if the job is in Redis now. False is no failure: the relay will bring it. */
  async enqueue(item: Enqueueing): Promise<boolean> {
    try {
      await withDeadline(this.#adds.call(item), enqueueTimeoutMs, () => new Error('Redis did not answer'));
    } catch (error) {
      this.#log.warn({ err: error, jobId: item.job.jobId }, 'left to the outbox relay');
      return false;
    }
    this.#hitFailpoint('submit.enqueued');
    // Nobody needs to wait for this: a row that stays is relayed again, and BullMQ knows its id already.
    this.#removals.call(item.outboxId).catch((error) => this.#log.warn({ err: error }, 'outbox row not removed'));
    return true;
  }

  /** The same for many, without waiting for single ones to join them. */
  async enqueueAll(items: readonly Enqueueing[]): Promise<boolean> {
    if (items.length === 0) return true;
    try {
      await withDeadline(this.#addAll(items), enqueueTimeoutMs, () => new Error('Redis did not answer'));
    } catch (error) {
      this.#log.warn({ err: error, jobs: items.length }, 'left to the outbox relay');
      return false;
    }
    this.#hitFailpoint('submit.enqueued');
    // Waited for, so that removals cannot fall behind what is taken in; but nobody's answer depends on it.
    const ids = items.map((item) => item.outboxId);
    await withDeadline(removeFromOutbox(this.#db, ids), removalTimeoutMs, () => new Error('it takes too long')).catch(
      (error) => this.#log.warn({ err: error }, 'outbox rows not removed'),
    );
    return true;
  }

  async #addAll(items: readonly Enqueueing[]): Promise<undefined[]> {
    const end = this.#metrics.outboxPublishing.startTimer();
    const groups = groupBy(items, (item) => item.queue);
    await Promise.all(
      [...groups].map(([queue, group]) =>
        this.#queues.add(
          queue,
          group.map((item) => item.job),
        ),
      ),
    );
    end();
    return [];
  }
}
