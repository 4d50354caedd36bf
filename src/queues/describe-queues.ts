import type { Job, Queue } from 'bullmq';
import type { Queues } from './queues.ts';

export interface QueueDescription {
  queue: string;
  jobs: Record<string, number>;
  workers: number;
  oldestWaitingSeconds: number;
}

const states = ['waiting', 'active', 'delayed', 'prioritized', 'completed', 'failed'] as const;

/** The state of each queue by a handful of commands that take the same time however long it is. */
export async function describeQueues(queues: Queues, names: readonly string[]): Promise<QueueDescription[]> {
  return await Promise.all(
    names.map(async (name) => {
      const queue = queues.get(name);
      const [jobs, workers, oldestWaitingSeconds] = await Promise.all([
        queue.getJobCounts(...states),
        queue.getWorkersCount(),
        measureOldestWaiting(queue),
      ]);
      return { queue: name, jobs, workers, oldestWaitingSeconds };
    }),
  );
}

async function measureOldestWaiting(queue: Queue): Promise<number> {
  const jobs = await queue.getJobs(['waiting'], 0, 0, true);
  const sinceMs = Math.min(...jobs.map(waitsSince));
  return Number.isFinite(sinceMs) ? Math.max(0, (Date.now() - sinceMs) / 1000) : 0;
}

/** A job that came back waits since then, and not since it was made. */
function waitsSince(job: Job): number {
  return Math.max(job.timestamp + job.delay, job.processedOn ?? 0);
}
