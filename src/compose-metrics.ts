import type { Logger } from 'pino';
import type { Role } from './config.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { deadLetterQueue } from './processors/fail-attempt.ts';
import type { HousekeepingRun } from './queues/housekeeping/housekeeping-worker.ts';
import { housekeepingQueue } from './queues/housekeeping/schedules.ts';
import { expiredRecordsTask } from './queues/housekeeping/tasks.ts';
import { uploadOperation } from './queues/mailings/create-mailing.ts';
import { notificationsQueue, operationsQueue, type Queues } from './queues/queues.ts';
import { pingStores, StoreGauges } from './queues/store-gauges.ts';
import type { Database } from './store/database.ts';
import { mailingsQueue } from './store/mailings/mailing-actions.ts';
import type { RedisClient } from './store/redis.ts';

interface MetricsParts {
  role: Role;
  operations: readonly string[];
  db: Database;
  redis: RedisClient;
  queues: Queues;
  log: Logger;
}

const queueNames = [operationsQueue, notificationsQueue, mailingsQueue, deadLetterQueue, housekeepingQueue];

/** The part of the composition root that measures. An API also speaks for the stores, which are the same for all. */
export function openMetrics({ role, operations, ...stores }: MetricsParts): {
  metrics: Metrics;
  scraping: { scrape: () => Promise<string>; close: () => Promise<void> };
} {
  const metrics = createMetrics({
    operations: [...operations, uploadOperation],
    servesApi: role !== 'worker',
    runsJobs: role !== 'api',
  });
  const { registry, gauges } = metrics;
  if (role === 'worker') {
    const scrape = async () => {
      await pingStores({ gauges, ...stores });
      return await registry.metrics();
    };
    return { metrics, scraping: { scrape, close: async () => undefined } };
  }
  const storeGauges = new StoreGauges({ gauges, queueNames, ...stores });
  const scrape = async () => {
    await storeGauges.refresh();
    return await registry.metrics();
  };
  return { metrics, scraping: { scrape, close: () => storeGauges.close() } };
}

/** Of housekeeping, what is about expired records. */
export function countCleanup({ cleanup }: Metrics): (run: HousekeepingRun) => void {
  return ({ task, counts, durationMs, error }) => {
    if (task !== expiredRecordsTask) return;
    cleanup.observeRound(durationMs);
    cleanup.countDeleted(counts.deleted ?? 0);
    if (error !== undefined) cleanup.countFailure();
  };
}
