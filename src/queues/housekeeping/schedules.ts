import type { JobsOptions, Queue } from 'bullmq';
import type { HousekeepingTask } from './tasks.ts';

export const housekeepingQueue = 'housekeeping';

/** A day of runs to look at. One that failed is not tried again: the next one comes by itself. */
const runOptions: JobsOptions = {
  attempts: 1,
  removeOnComplete: { count: 2_000, age: 86_400 },
  removeOnFail: { count: 2_000, age: 7 * 86_400 },
};

/**
 * Makes the schedules that are missing, those that have another pause, and those whose next run got lost or is far away:
 * after a FLUSHALL nobody else would. One that is as it should be is left alone, because making it again would begin its
 * pause again. Any number of processes may do this. Returns the names of those that were made.
 */
export async function ensureSchedules(queue: Queue, tasks: readonly HousekeepingTask[]): Promise<string[]> {
  const made: string[] = [];
  for (const { name, everyMs } of tasks) {
    const state = await findState(queue, name, everyMs);
    if (state === 'fine') continue;
    // BullMQ would keep its next run.
    if (state === 'far away') await queue.removeJobScheduler(name);
    await queue.upsertJobScheduler(name, { every: everyMs }, { name, data: {}, opts: runOptions });
    made.push(name);
  }
  return made;
}

async function findState(queue: Queue, name: string, everyMs: number): Promise<'fine' | 'missing' | 'far away'> {
  const scheduler = await queue.getJobScheduler(name);
  if (scheduler?.every !== everyMs || !scheduler.next) return 'missing';
  // Further than any pause: whoever made it has a clock that is ahead, and may be gone.
  if (scheduler.next > Date.now() + 2 * everyMs) return 'far away';
  // A schedule lives on in its next run, which makes the one after it when it begins.
  const next = await queue.getJob(`repeat:${name}:${scheduler.next}`);
  return next !== undefined && next.finishedOn === undefined ? 'fine' : 'missing';
}
