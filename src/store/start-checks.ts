import { once } from 'node:events';
import type { Logger } from 'pino';
import { describeClockFault, measurePostgresClock, measureRedisClock } from './clocks.ts';
import type { Database } from './database.ts';
import { withDeadline } from './deadline.ts';
import { pendingMigrations } from './migrate.ts';
import { findPostgresVersionFault } from './postgres-version.ts';
import { findRedisMisconfiguration, type RedisClient } from './redis.ts';
import { StartError, toStartError } from './start-error.ts';

interface Stores {
  db: Database;
  redis: RedisClient;
  log: Logger;
}

/** How long a start waits for Redis. Without it the service starts all the same and catches up later. */
const redisPatienceMs = 3_000;

/** Refuses to start on stores that cannot keep what is promised. */
export async function checkStores(stores: Stores): Promise<void> {
  await checkDatabase(stores.db);
  await checkRedis(stores.redis, stores.log);
  await warnOfClocks(stores);
}

/** A clock that is wrong stops nothing: what keeps the truth goes by the clock of Postgres. It is told, again and again. */
export async function warnOfClocks({ db, redis, log }: Stores): Promise<void> {
  const isRedisReady = redis.status === 'ready';
  const [Postgres, Redis] = await Promise.all([
    measurePostgresClock(db),
    isRedisReady ? measureRedisClock(redis).catch(() => undefined) : undefined,
  ]);
  const fault = describeClockFault({ Postgres, Redis });
  if (fault) log.warn({ postgresOffsetMs: Postgres.offsetMs, redisOffsetMs: Redis?.offsetMs }, fault);
}

async function checkDatabase(db: Database): Promise<void> {
  let versionFault: string | undefined;
  let pending: string[];
  try {
    versionFault = await findPostgresVersionFault(db);
    pending = await pendingMigrations(db);
  } catch (error) {
    throw toStartError(error);
  }
  if (versionFault) throw new StartError(versionFault);
  if (pending.length > 0) {
    throw new StartError(
      `The database lacks the migrations ${pending.join(', ')}. Run "node dist/main.js migrate" first.`,
    );
  }
}

async function checkRedis(redis: RedisClient, log: Logger): Promise<void> {
  if (redis.status !== 'ready') {
    const ready = once(redis, 'ready', { signal: AbortSignal.timeout(redisPatienceMs) });
    const isReady = await ready.then(() => true).catch(() => false);
    if (!isReady) {
      log.warn('Redis cannot be reached. Requests are taken and will run once it is back.');
      return;
    }
  }
  const question = findRedisMisconfiguration(redis);
  const fault = await withDeadline(question, redisPatienceMs, () => new Error('Redis does not answer'));
  if (fault) throw new StartError(fault);
}
