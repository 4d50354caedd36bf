import { DelayedError, type Job, type Worker } from 'bullmq';
import type { RedisClient } from '../store/redis.ts';
import { earlierTimeMs } from './earlier-time.ts';

/**
 * Puts a job off, and throws what tells BullMQ so. It is due by the earlier of two clocks, for which the job's own method
 * has no room: that one counts from the clock of its process, and if this is an hour ahead, the job is hidden for an hour.
 */
export async function putOffJob(
  { worker, redis }: { worker: Pick<Worker, 'backend'>; redis: RedisClient },
  job: Job,
  { delayMs, token }: { delayMs: number; token: string | undefined },
): Promise<never> {
  const nowMs = await earlierTimeMs(redis);
  await worker.backend.moveToDelayed(job.id ?? '', nowMs, delayMs, token, { skipAttempt: true });
  throw new DelayedError();
}
