import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { HitFailpoint } from './failpoints.ts';
import { type HousekeepingRun, startHousekeepingWorker } from './queues/housekeeping/housekeeping-worker.ts';
import { ensureSchedules, housekeepingQueue } from './queues/housekeeping/schedules.ts';
import { createTasks } from './queues/housekeeping/tasks.ts';
import type { Queues } from './queues/queues.ts';
import { Recurring } from './queues/recurring.ts';
import type { Database } from './store/database.ts';
import type { FileStorage } from './store/files/file-storage.ts';
import { Locks } from './store/locks.ts';
import type { RedisClient } from './store/redis.ts';

interface HousekeepingParts {
  config: Config;
  log: Logger;
  db: Database;
  relaxedDb: Database;
  redis: RedisClient;
  connection: RedisClient;
  prefix: string;
  queues: Queues;
  storage: FileStorage;
  hitFailpoint: HitFailpoint;
  onHousekeepingRun?: (run: HousekeepingRun) => void;
  untilLost: (redis: RedisClient, work: Promise<unknown>) => Promise<void>;
}

/** How often each process looks whether the schedules are there: a FLUSHALL stops housekeeping for no longer. */
const schedulePauseMs = 60_000;

/** The part of the composition root that takes away what is over. */
export function startHousekeeping(parts: HousekeepingParts): { close: () => Promise<void> } {
  const { config, log, redis } = parts;
  const stopping = new AbortController();
  const tasks = createTasks({ ...parts, auditRetentionDays: config.AUDIT_RETENTION_DAYS });
  const worker = startHousekeepingWorker({
    tasks,
    connection: parts.connection,
    prefix: parts.prefix,
    locks: new Locks(redis, parts.prefix, config.LOCK_DURATION_MS),
    lockDurationMs: config.LOCK_DURATION_MS,
    stopping: stopping.signal,
    onRun: parts.onHousekeepingRun ?? (() => undefined),
    log,
  });
  const scheduling = new Recurring({
    name: 'housekeeping schedules',
    pauseMs: schedulePauseMs,
    log,
    task: async () => {
      if (redis.status !== 'ready') return;
      const made = await ensureSchedules(parts.queues.get(housekeepingQueue), tasks);
      if (made.length > 0) log.info({ made }, 'housekeeping scheduled');
    },
  });
  scheduling.wake();
  const close = async () => {
    stopping.abort();
    await Promise.all([parts.untilLost(redis, worker.close()), scheduling.stop()]);
  };
  return { close };
}
