import { type Job, Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { Locks } from '../../store/locks.ts';
import type { RedisClient } from '../../store/redis.ts';
import { takeoverOptions } from '../queues.ts';
import { housekeepingQueue } from './schedules.ts';
import type { HousekeepingTask } from './tasks.ts';

/** What a run did, or why it could not. */
export interface HousekeepingRun {
  task: string;
  counts: Readonly<Record<string, number>>;
  durationMs: number;
  error?: unknown;
}

export interface HousekeepingWorkerParts {
  tasks: readonly HousekeepingTask[];
  connection: RedisClient;
  prefix: string;
  locks: Locks;
  lockDurationMs: number;
  /** Aborted when the process is to end: what is under way ends after its batch. */
  stopping: AbortSignal;
  /** Told of each run, for whoever counts them. */
  onRun: (run: HousekeepingRun) => void;
  log: Logger;
}

/** Runs what is due, one task at a time in a process. The schedules see to it that each is due once, whoever takes it. */
export function startHousekeepingWorker(parts: HousekeepingWorkerParts): Worker {
  const tasks = new Map(parts.tasks.map((task) => [task.name, task]));
  const worker = new Worker(housekeepingQueue, (job) => handleJob(parts, tasks, job), {
    connection: parts.connection,
    prefix: parts.prefix,
    concurrency: 1,
    ...takeoverOptions(parts.lockDurationMs),
  });
  worker.on('error', (error) => parts.log.warn({ err: error }, 'housekeeping worker'));
  return worker;
}

async function handleJob(
  parts: HousekeepingWorkerParts,
  tasks: ReadonlyMap<string, HousekeepingTask>,
  job: Job,
): Promise<unknown> {
  const task = tasks.get(job.name);
  if (!task) return 'no task has this name any more';
  // A run that takes longer than its pause is not joined by the next one, which would only get in its way.
  const lock = await parts.locks.acquire([`housekeeping:${task.name}`]);
  if (lock === 'held') return 'under way already';
  try {
    return await runTask(parts, task);
  } finally {
    await lock.release();
  }
}

async function runTask(parts: HousekeepingWorkerParts, task: HousekeepingTask): Promise<Record<string, number>> {
  const startedMs = performance.now();
  const run = { task: task.name, counts: {}, durationMs: 0 };
  try {
    const counts = await task.run(parts.stopping);
    const durationMs = Math.round(performance.now() - startedMs);
    const isWorthALine = Object.values(counts).some((count) => count > 0);
    parts.log[isWorthALine ? 'info' : 'debug']({ task: task.name, ...counts, durationMs }, 'housekeeping done');
    parts.onRun({ ...run, counts, durationMs });
    return counts;
  } catch (error) {
    const durationMs = Math.round(performance.now() - startedMs);
    parts.log.warn({ err: error, task: task.name, durationMs }, 'housekeeping failed, and will be tried again');
    parts.onRun({ ...run, durationMs, error });
    throw error;
  }
}
