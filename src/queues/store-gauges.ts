import type { Logger } from 'pino';
import type { StoreGauges as Gauges } from '../metrics.ts';
import { type Database, pingDatabase } from '../store/database.ts';
import { withDeadline } from '../store/deadline.ts';
import { type DatabaseDescription, describeDatabase } from '../store/describe-stores.ts';
import { readInvariants } from '../store/invariants.ts';
import type { RedisClient } from '../store/redis.ts';
import { checkInvariants } from './check-invariants.ts';
import { describeQueues, type QueueDescription } from './describe-queues.ts';
import type { Queues } from './queues.ts';

export interface StoreGaugeParts {
  gauges: Gauges;
  db: Database;
  redis: RedisClient;
  queues: Queues;
  queueNames: readonly string[];
  log: Logger;
}

/** Several scrapers, or one in a hurry, cost no more than one. */
const rememberedMs = 2_000;
/** A scrape answers even if a store hangs: without what that store would have said. */
const patienceMs = 1_000;
/** A round of checks is usually done by then, and is shown at once; a long one shows in the next scrape. */
const roundPatienceMs = 500;

/** Keeps the gauges that speak of the stores. Nothing is asked unless somebody scrapes. */
export class StoreGauges {
  readonly #parts: StoreGaugeParts;
  #refreshedMs = Number.NEGATIVE_INFINITY;
  #refresh: Promise<unknown> = Promise.resolve();
  #round: Promise<void> | undefined;

  constructor(parts: StoreGaugeParts) {
    this.#parts = parts;
    clear(parts.gauges, [...ofDatabase, ...ofQueues]);
  }

  /** Never fails, and takes two seconds at most. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#refreshedMs >= rememberedMs) {
      this.#refreshedMs = performance.now();
      this.#refresh = Promise.all([this.#refreshDatabase(), this.#refreshQueues()]);
    }
    await this.#refresh;
  }

  /** Waits for what is under way, so that no query meets a closed connection. */
  async close(): Promise<void> {
    await Promise.all([this.#refresh, this.#round]);
  }

  async #refreshDatabase(): Promise<void> {
    const { db, gauges } = this.#parts;
    await this.#runRound();
    const known = await this.#ask('postgres', () => Promise.all([describeDatabase(db), readInvariants(db)]));
    if (known === undefined) return clear(gauges, ofDatabase);
    const [description, invariants] = known;
    showDatabase(gauges, description);
    const byName = { ledger_imbalance: gauges.ledgerImbalance, unfinished_without_job: gauges.unfinishedWithoutJob };
    for (const { name, violations, ageSeconds } of invariants) {
      if (ageSeconds === null) continue;
      (name === 'entries_sent_twice' ? gauges.entriesSentTwice : byName[name]).set(violations);
      gauges.invariantAge.set({ invariant: name }, Math.max(0, ageSeconds));
    }
  }

  async #refreshQueues(): Promise<void> {
    const { redis, queues, queueNames, gauges } = this.#parts;
    const queuesNow = await this.#ask('redis', async () => {
      // BullMQ would wait for a connection that was never there.
      if (redis.status !== 'ready') throw new Error('Redis is away');
      return await describeQueues(queues, queueNames);
    });
    clear(gauges, ofQueues);
    for (const queue of queuesNow ?? []) showQueue(gauges, queue);
  }

  async #runRound(): Promise<void> {
    this.#round ??= checkInvariants(this.#parts)
      .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'the invariants could not be checked'))
      .finally(() => {
        this.#round = undefined;
      });
    await withDeadline(this.#round, roundPatienceMs, () => new Error('not yet')).catch(() => undefined);
  }

  async #ask<T>(store: 'postgres' | 'redis', question: () => Promise<T>): Promise<T | undefined> {
    const { gauges, log } = this.#parts;
    try {
      const answer = await withDeadline(question(), patienceMs, () => new Error('no answer in time'));
      gauges.storeUp.set({ store }, 1);
      return answer;
    } catch (error) {
      log.warn({ err: error, store }, 'the gauges of a store are missing');
      gauges.storeUp.set({ store }, 0);
      return undefined;
    }
  }
}

/** Whether the stores answer a process that shows nothing else of them. */
export async function pingStores({
  gauges,
  db,
  redis,
}: Pick<StoreGaugeParts, 'gauges' | 'db' | 'redis'>): Promise<void> {
  const ask = async (store: 'postgres' | 'redis', question: Promise<unknown>) => {
    const answer = withDeadline(question, patienceMs, () => new Error('no answer in time'));
    gauges.storeUp.set({ store }, await answer.then(() => 1).catch(() => 0));
  };
  await Promise.all([ask('postgres', pingDatabase(db)), ask('redis', redis.ping())]);
}

const ofQueues = ['queueJobs', 'queueWorkers', 'queueOldestWaiting'] as const;
const ofDatabase = [
  'records',
  'stuck',
  'deadLetters',
  'outboxPending',
  'outboxQuarantined',
  'outboxLag',
  'ledgerImbalance',
  'unfinishedWithoutJob',
  'entriesSentTwice',
  'invariantAge',
] as const;

/** Absent and not 0: nothing is known, and no rule is to take that for good news. */
function clear(gauges: Gauges, names: readonly (keyof Gauges)[]): void {
  for (const name of names) {
    gauges[name].reset();
    gauges[name].remove({});
  }
}

function showDatabase(gauges: Gauges, { records, stuck, deadLetters, outbox }: DatabaseDescription): void {
  for (const [status, count] of Object.entries(records)) gauges.records.set({ status }, count);
  gauges.stuck.set(stuck);
  gauges.deadLetters.set(deadLetters);
  gauges.outboxPending.set(outbox.pending);
  gauges.outboxQuarantined.set(outbox.quarantined);
  gauges.outboxLag.set(outbox.lagSeconds);
}

function showQueue(gauges: Gauges, { queue, jobs, workers, oldestWaitingSeconds }: QueueDescription): void {
  for (const [state, count] of Object.entries(jobs)) gauges.queueJobs.set({ queue, state }, count);
  gauges.queueWorkers.set({ queue }, workers);
  gauges.queueOldestWaiting.set({ queue }, oldestWaitingSeconds);
}
