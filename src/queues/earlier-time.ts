import type { RedisClient } from '../store/redis.ts';

/**
 * BullMQ compares the time that a job is due with the clock of whoever looks, so a process whose clock is an hour ahead
 * would hide the job from all others for an hour. Of its clock and that of Redis, the one that is behind is taken: a job
 * that comes too early does no harm.
 */
export async function earlierTimeMs(redis: RedisClient): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Math.min(Date.now(), Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000));
}
