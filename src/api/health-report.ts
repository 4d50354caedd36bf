import { z } from 'zod';
import { operationsQueue, type Queues } from '../queues/queues.ts';
import { describeClockFault, measurePostgresClock, measureRedisClock } from '../store/clocks.ts';
import type { Database } from '../store/database.ts';
import { withDeadline } from '../store/deadline.ts';
import type { FileStorage } from '../store/files/file-storage.ts';
import { missingMigrations } from '../store/migrate.ts';
import { describeOutbox } from '../store/outbox.ts';
import { findPostgresVersionFault } from '../store/postgres-version.ts';
import { findRedisMisconfiguration, type RedisClient } from '../store/redis.ts';

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
      migrations: healthCheck,
      redis: healthCheck,
      clock: healthCheck,
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
  const [database, migrations, redisCheck, clock, storageCheck, outbox, workers] = await Promise.all([
    measure('down', async () => degradedBy(await findPostgresVersionFault(db))),
    measure('degraded', async () => {
      const missing = await missingMigrations(db);
      return missing.length > 0 ? { status: 'degraded', missing } : undefined;
    }),
    measure('degraded', async () => {
      await redis.ping();
      // It can be set wrong at any time, not only before a start.
      return degradedBy(await findRedisMisconfiguration(redis));
    }),
    measure('degraded', () => checkClock(db, redis)),
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
  const checks = { database, migrations, redis: redisCheck, clock, storage: storageCheck, outbox, workers };
  return { status: worstOf(Object.values(checks)), checks };
}

/** Of the process that answers. Workers compare theirs with the same Postgres, and log it. */
async function checkClock(db: Database, redis: RedisClient): Promise<{ status: HealthCheck['status'] }> {
  const [Postgres, Redis] = await Promise.all([
    measurePostgresClock(db),
    // Whether Redis answers at all is another check.
    measureRedisClock(redis).catch(() => undefined),
  ]);
  const offsets = { postgresOffsetMs: Postgres.offsetMs, redisOffsetMs: Redis?.offsetMs ?? null };
  return { status: 'ok', ...offsets, ...degradedBy(describeClockFault({ Postgres, Redis })) };
}

function degradedBy(problem: string | undefined): { status: 'degraded'; problem: string } | undefined {
  return problem === undefined ? undefined : { status: 'degraded', problem };
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
