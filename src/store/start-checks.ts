import { once } from 'node:events';
import type { Logger } from 'pino';
import { type Database, isDatabaseUnavailable } from './database.ts';
import { withDeadline } from './deadline.ts';
import { pendingMigrations } from './migrate.ts';
import { findRedisMisconfiguration, type RedisClient } from './redis.ts';

/** Something is set up in a way that would break a promise. The message is the one line that a person needs. */
export class StartError extends Error {}

/** How long a start waits for Redis. Without it the service starts all the same and catches up later. */
const redisPatienceMs = 3_000;

/** Refuses to start on stores that cannot keep what is promised. */
export async function checkStores(stores: { db: Database; redis: RedisClient; log: Logger }): Promise<void> {
  await checkDatabase(stores.db);
  await checkRedis(stores.redis, stores.log);
}

async function checkDatabase(db: Database): Promise<void> {
  let pending: string[];
  try {
    pending = await pendingMigrations(db);
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    throw new StartError(`DATABASE_URL leads to no Postgres that answers: ${(error as Error).message}`);
  }
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
