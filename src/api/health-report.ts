import { z } from 'zod';
import { operationsQueue, type Queues } from '../queues/queues.ts';
import { type Database, pingDatabase } from '../store/database.ts';
import { withDeadline } from '../store/deadline.ts';
import type { FileStorage } from '../store/files/file-storage.ts';
import { describeOutbox } from '../store/outbox.ts';
import type { RedisClient } from '../store/redis.ts';

export const healthStatus = z
  .enum(['ok', 'degraded', 'down'])
  .describe('`down`: nothing can be taken. `degraded`: requests are taken, but something needs a look.');

const healthCheck = z.looseObject({ status: healthStatus, responseTimeMs: z.number() }).meta({ id: 'HealthCheck' });
type HealthCheck = z.infer<typeof healthCheck>;

export const healthReportSchema = z
  .strictObject({
    status: healthStatus,
    checks: z.strictObject({
      database: healthCheck,
      redis: healthCheck,
      storage: healthCheck,
      outbox: healthCheck,
      workers: healthCheck,
    }),
  })
  .meta({ id: 'HealthReport' });
export type HealthReport = z.infer<typeof healthReportSchema>;

export interface HealthParts {
  db: Database;
  redis: RedisClient;
  queues: Queues;
  storage: FileStorage;
}

/** A load balancer's patience is a few seconds; a check that hangs is a check that failed. */
const checkTimeoutMs = 1_500;
/** The relay comes by every two seconds, so rows older than this mean that it does not get through. */
const maxLagSeconds = 30;

export async function checkHealth({ db, redis, queues, storage }: HealthParts): Promise<HealthReport> {
  const [database, redisCheck, storageCheck, outbox, workers] = await Promise.all([
    measure('down', async () => void (await pingDatabase(db))),
    measure('degraded', async () => void (await redis.ping())),
    measure('degraded', async () => void (await storage.check())),
    measure('degraded', async () => {
      const outboxState = await describeOutbox(db);
      const isFine = outboxState.lagSeconds < maxLagSeconds && outboxState.quarantined === 0;
      return { status: isFine ? 'ok' : 'degraded', ...outboxState };
    }),
    measure('degraded', async () => {
      const count = await queues.get(operationsQueue).getWorkersCount();
      return { status: count > 0 ? 'ok' : 'degraded', count };
    }),
  ]);
  const checks = { database, redis: redisCheck, storage: storageCheck, outbox, workers };
  return { status: worstOf(Object.values(checks)), checks };
}

async function measure(
  statusOnFailure: 'degraded' | 'down',
  check: () => Promise<{ status: HealthCheck['status'] } | undefined>,
): Promise<HealthCheck> {
  const startedMs = performance.now();
  const elapsedMs = () => Math.round((performance.now() - startedMs) * 10) / 10;
  try {
    const details = await withDeadline(check(), checkTimeoutMs, () => new Error('no answer in time'));
    return { status: 'ok', responseTimeMs: elapsedMs(), ...details };
  } catch {
    return { status: statusOnFailure, responseTimeMs: elapsedMs() };
  }
}

function worstOf(checks: readonly HealthCheck[]): HealthCheck['status'] {
  if (checks.some((check) => check.status === 'down')) return 'down';
  return checks.some((check) => check.status === 'degraded') ? 'degraded' : 'ok';
}
