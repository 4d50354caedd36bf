import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { openMetrics } from './compose-metrics.ts';
import type { Config, Role } from './config.ts';
import { createFailpoints } from './failpoints.ts';
import type { AnyOperation } from './processors/define-operation.ts';
import { createRegistry, operations } from './processors/registry.ts';
import { createJobAdder } from './queues/mailings/open-mailings.ts';
import type { Consumer } from './queues/notification-worker.ts';
import { Queues } from './queues/queues.ts';
import { openDatabase } from './store/database.ts';
import type { FileStorage } from './store/files/file-storage.ts';
import { hashTagOf, isRedisAtFault, openRedis, type RedisClient } from './store/redis.ts';
import { Results } from './store/results.ts';

export interface ServiceOptions {
  config: Config;
  role: Exclude<Role, 'migrate'>;
  log: Logger;
  operations?: readonly AnyOperation[];
  /** More consumers of events, besides webhooks and alerts. */
  consumers?: readonly Consumer[];
}

/** What every role stands on. */
export type Parts = ReturnType<typeof openParts>;

export function openParts(
  { config, role, log, operations: list = operations, consumers = [] }: ServiceOptions,
  storage: FileStorage,
) {
  const instanceId = randomUUID();
  const prefix = hashTagOf(config.REDIS_PREFIX);
  const hitFailpoint = createFailpoints(config.SEMEL_FAILPOINTS);
  const warn = (name: string) => (error: Error) => log.warn({ err: error, connection: name }, 'connection error');
  const db = openDatabase({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: `semel-${role}`,
    idleInTransactionTimeoutMs: config.LOCK_DURATION_MS,
    onError: warn('postgres'),
  });
  // For what may be lost in a crash of Postgres because it is made good: it does not wait for the disk.
  const relaxedDb = openDatabase({
    url: config.DATABASE_URL,
    poolSize: 2,
    applicationName: `semel-${role}-relaxed`,
    idleInTransactionTimeoutMs: config.LOCK_DURATION_MS,
    synchronousCommit: false,
    onError: warn('postgres'),
  });
  const redis = openRedis(config, 'caller', warn('redis'));
  const queues = new Queues(redis, prefix, warn('queue'));
  const results = new Results(redis, prefix, config.RESULT_CACHE_TTL_SECONDS);
  const registry = createRegistry(list);
  const { metrics, scraping } = openMetrics({ role, operations: [...registry.keys()], db, redis, queues, log });
  const close = async () => {
    await scraping.close();
    await untilLost(redis, queues.close());
    redis.disconnect();
    storage.close();
    await Promise.all([db.destroy(), relaxedDb.destroy()]);
  };
  return {
    config,
    log,
    instanceId,
    prefix,
    hitFailpoint,
    warn,
    db,
    relaxedDb,
    redis,
    queues,
    storage,
    addMailingJobs: createJobAdder(queues, log),
    results,
    registry,
    metrics,
    scrape: scraping.scrape,
    consumers,
    close,
  };
}

/** Without Redis no job can be ended and nothing closes in order, so there is nothing to wait for. */
export async function untilLost(redis: RedisClient, work: Promise<unknown>): Promise<void> {
  // What fails for want of Redis is as good as closed.
  const closed = work.catch((error: unknown) => {
    if (!isRedisAtFault(error)) throw error;
  });
  if (redis.status !== 'ready') return void closed.catch(() => undefined);
  // Not `once` of node:events, which takes the error that comes before the end for its own.
  const lost = new Promise<void>((resolve) => redis.once('close', () => resolve()));
  await Promise.race([closed, lost]);
}
