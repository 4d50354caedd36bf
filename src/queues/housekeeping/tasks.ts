import type { Logger } from 'pino';
import type { HitFailpoint } from '../../failpoints.ts';
import type { Database } from '../../store/database.ts';
import type { FileStorage } from '../../store/files/file-storage.ts';
import { countStuckRecords } from '../../store/housekeeping/expired-records.ts';
import type { RedisClient } from '../../store/redis.ts';
import type { Queues } from '../queues.ts';
import { deleteExpired } from './delete-expired.ts';
import { keepAudit } from './keep-audit.ts';
import { removeFiles } from './remove-files.ts';
import { trimOldRows } from './trim-old-rows.ts';

/** Something that is to be done again and again, once in the whole installation and not in each process. */
export interface HousekeepingTask {
  name: string;
  everyMs: number;
  /** What it did, for the log and the queue page. Ends early, without a fault, when the signal is aborted. */
  run: (signal: AbortSignal) => Promise<Record<string, number>>;
}

export interface HousekeepingTaskParts {
  db: Database;
  /** Does not wait for the disk: what a crash of Postgres brings back is deleted again. */
  relaxedDb: Database;
  queues: Queues;
  redis: RedisClient;
  storage: FileStorage;
  log: Logger;
  hitFailpoint: HitFailpoint;
  auditRetentionDays: number;
}

export const expiredRecordsTask = 'expired-records';

const minuteMs = 60_000;
/** Far beyond the longest pause between attempts and any recovery. */
const stuckMs = 30 * minuteMs;

/** All of housekeeping, on one screen. Each may be killed at any point and run twice at once. */
export function createTasks(parts: HousekeepingTaskParts): HousekeepingTask[] {
  const { relaxedDb, queues } = parts;
  return [
    {
      name: expiredRecordsTask,
      everyMs: minuteMs,
      run: async (signal) => ({ deleted: await deleteExpired({ ...parts, db: relaxedDb }, signal) }),
    },
    { name: 'stuck-records', everyMs: 5 * minuteMs, run: () => warnOfStuckRecords(parts) },
    { name: 'old-rows', everyMs: 60 * minuteMs, run: (signal) => trimOldRows({ db: relaxedDb, queues }, signal) },
    { name: 'files', everyMs: 60 * minuteMs, run: (signal) => removeFiles(parts, signal) },
    { name: 'audit-partitions', everyMs: 12 * 60 * minuteMs, run: (signal) => keepAudit(parts, signal) },
  ];
}

async function warnOfStuckRecords({ db, log }: HousekeepingTaskParts): Promise<Record<string, number>> {
  const stuck = await countStuckRecords(db, stuckMs);
  if (stuck > 0) log.warn({ stuck, untouchedMinutes: stuckMs / minuteMs }, 'records are stuck');
  return { stuck };
}
