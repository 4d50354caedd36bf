import { isIPv6 } from 'node:net';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { AppError } from '../../errors.ts';
import type { RedisClient } from '../../store/redis.ts';

export interface LoginLimit {
  /** Throws RATE_LIMITED if too many logins from there have failed lately. */
  check: (address: string) => Promise<void>;
  /** Counts a login that failed. Throws RATE_LIMITED if it was one too many. */
  countFailure: (address: string) => Promise<void>;
}

/** Who mistypes gets along with it, and a guess a few seconds apart finds no password of eight characters in a lifetime. */
const maxFailures = 10;
const windowSeconds = 60;

/** Failed logins of an address in a minute, over all API processes. While Redis is away, each counts for itself. */
export function createLoginLimit(redis: RedisClient, prefix: string): LoginLimit {
  const own = new RateLimiterMemory({ points: maxFailures, duration: windowSeconds });
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `${prefix}:failed-logins`,
    points: maxFailures,
    duration: windowSeconds,
    insuranceLimiter: own,
  });
  return {
    check: async (address) => {
      const failures = await shared.get(networkOf(address));
      if (failures !== null && failures.consumedPoints >= maxFailures) throw tooMany(failures);
    },
    countFailure: async (address) => {
      await shared.consume(networkOf(address)).catch((error: unknown) => {
        throw error instanceof RateLimiterRes ? tooMany(error) : error;
      });
    },
  };
}

/** Whoever has one IPv6 address usually has the 2^64 of its network. */
function networkOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '');
  if (!isIPv6(bare)) return bare;
  const [head = '', tail] = bare.split('::');
  const groups = head.split(':').filter(Boolean);
  if (tail !== undefined) {
    const rest = tail.split(':').filter(Boolean);
    groups.push(...Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0'), ...rest);
  }
  return groups.slice(0, 4).join('-');
}

function tooMany({ msBeforeNext }: RateLimiterRes): AppError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new AppError('RATE_LIMITED', `Too many logins have failed. Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
