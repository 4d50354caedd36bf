import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Registry } from './processors/registry.ts';
import type { Enqueuer } from './queues/enqueue.ts';
import { KeyChanges } from './queues/key-changes.ts';
import { KeyUses } from './queues/key-uses.ts';
import type { JobDraft, Queues } from './queues/queues.ts';
import { ReplayCounter } from './queues/replay-counter.ts';
import { RequestCounter } from './queues/request-counter.ts';
import type { RetryParts } from './queues/retry-dead-letters.ts';
import type { Database } from './store/database.ts';
import type { RedisClient } from './store/redis.ts';

/** What an API process counts in memory and writes in groups. */
export function openCounters(parts: { relaxedDb: Database; instanceId: string; log: Logger }) {
  const { relaxedDb, instanceId, log } = parts;
  const replayCounter = new ReplayCounter(relaxedDb, log);
  const requestCounter = new RequestCounter({ db: relaxedDb, instanceId, log });
  const keyUses = new KeyUses(relaxedDb, log);
  const close = async () => {
    await Promise.all([replayCounter.flush(), requestCounter.close(), keyUses.flush()]);
  };
  return { replayCounter, requestCounter, keyUses, close };
}

export interface AdminParts {
  config: Config;
  db: Database;
  redis: RedisClient;
  queues: Queues;
  prefix: string;
  registry: Registry;
  addMailingJobs: (jobs: readonly JobDraft[]) => Promise<void>;
  log: Logger;
}

/** What the routes of operators need besides the database. */
export function openAdmin(
  { config, db, redis, queues, prefix, registry, addMailingJobs, log }: AdminParts,
  { enqueuer, subscriber }: { enqueuer: Enqueuer; subscriber: RedisClient },
): { keyChanges: KeyChanges; repairs: RetryParts } {
  const recordTtlSeconds = config.RECORD_TTL_SECONDS;
  return {
    keyChanges: new KeyChanges({ redis, subscriber, prefix, log }),
    repairs: { db, enqueuer, registry, recordTtlSeconds, log, queues, addMailingJobs },
  };
}
