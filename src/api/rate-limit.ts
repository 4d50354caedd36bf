import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { AppError } from '../errors.ts';
import type { RedisClient } from '../store/redis.ts';

const windowSeconds = 60;

interface Allowance {
  left: number;
  expiresAtMs: number;
}

/**
 * The requests of a client in a minute, across all API processes. A process takes points from Redis in small blocks
 * (a five-hundredth of the limit), so that a busy client does not cost a round trip for every request.
 */
export function createRateLimit(
  redis: RedisClient,
  options: { prefix: string; perMinute: number },
): (client: string) => Promise<void> {
  const { perMinute } = options;
  if (perMinute === 0) return async () => undefined;
  const blockSize = Math.max(1, Math.floor(perMinute / 500));
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `${options.prefix}:rate`,
    points: perMinute,
    duration: windowSeconds,
    // While Redis is away, each process counts for itself.
    insuranceLimiter: new RateLimiterMemory({ points: perMinute, duration: windowSeconds }),
  });
  const allowances = new Map<string, Allowance>();

  return async (client) => {
    const allowance = allowances.get(client);
    if (allowance && allowance.left > 0 && Date.now() < allowance.expiresAtMs) {
      allowance.left -= 1;
      return;
    }
    try {
      const { msBeforeNext } = await limiter.consume(client, blockSize);
      allowances.set(client, { left: blockSize - 1, expiresAtMs: Date.now() + msBeforeNext });
    } catch (error) {
      if (error instanceof RateLimiterRes) throw tooMany(perMinute, error.msBeforeNext);
      throw error;
    }
  };
}

function tooMany(perMinute: number, msBeforeNext: number): AppError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new AppError('RATE_LIMITED', `The limit is ${perMinute} requests a minute. Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
