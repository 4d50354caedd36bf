import { DelayedError, type Job } from 'bullmq';
import type { RedisClient } from '../store/redis.ts';

/**
 * Puts a job off, and throws what tells BullMQ so. BullMQ compares the time that a job is due with the clock of whoever
 * looks, so a process whose clock is an hour ahead would hide the job from all others for an hour. Of two clocks the
 * one that is behind is taken: a job that comes too early does no harm.
 */
export async function putOffJob(
  redis: RedisClient,
  job: Job,
  { delayMs, token }: { delayMs: number; token: string | undefined },
): Promise<never> {
  const nowMs = Math.min(Date.now(), await askTimeMs(redis));
  await job.moveToDelayed(nowMs + delayMs, token);
  throw new DelayedError();
}

async function askTimeMs(redis: RedisClient): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
