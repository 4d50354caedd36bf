import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { AppError } from '../errors.ts';
import type { RedisClient } from '../store/redis.ts';

const windowSeconds = 60;
/** A Redis that hangs costs a second to find out; not more often than this is it asked again. */
const awayPauseMs = 5_000;

/** What a process has taken for a client and not used yet. */
interface Allowance {
  left: number;
  expiresAtMs: number;
  refill: Promise<void> | undefined;
}

/** What is counted: a request, or a line of a bulk request. */
export type RateUnit = 'request' | 'line';
export type ConsumeRateLimit = (client: string, unit?: RateUnit) => Promise<void>;

/** A line of many costs about a tenth of what a request of its own costs. */
const linesPerRequest = 10;

/**
 * The requests of a client in a minute, across all API processes. Lines have a count of their own, so that a large
 * file does not use up the minute of those who send single requests for the same client.
 */
export function createRateLimit(
  redis: RedisClient,
  { prefix, perMinute }: { prefix: string; perMinute: number },
): ConsumeRateLimit {
  if (perMinute === 0) return async () => undefined;
  const consume = {
    request: createLimit(redis, { keyPrefix: `${prefix}:rate`, perMinute, unit: 'request' }),
    line: createLimit(redis, {
      keyPrefix: `${prefix}:rate-lines`,
      perMinute: perMinute * linesPerRequest,
      unit: 'line',
    }),
  };
  return (client, unit = 'request') => consume[unit](client);
}

/**
 * A process takes points from Redis in small blocks (a five-hundredth of the limit), so that a busy client does not
 * cost a round trip for every request.
 */
function createLimit(
  redis: RedisClient,
  { keyPrefix, perMinute, unit }: { keyPrefix: string; perMinute: number; unit: RateUnit },
): (client: string) => Promise<void> {
  const blockSize = Math.max(1, Math.floor(perMinute / 500));
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix,
    points: perMinute,
    duration: windowSeconds,
  });
  const own = new RateLimiterMemory({ points: perMinute, duration: windowSeconds });
  let awayUntilMs = 0;

  const consume = async (client: string): Promise<RateLimiterRes> => {
    if (Date.now() < awayUntilMs) return await own.consume(client, blockSize);
    try {
      return await shared.consume(client, blockSize);
    } catch (error) {
      if (error instanceof RateLimiterRes) throw error;
      // While Redis is away, each process counts for itself.
      awayUntilMs = Date.now() + awayPauseMs;
      return await own.consume(client, blockSize);
    }
  };
  const take = async (client: string): Promise<number> => {
    try {
      return Date.now() + (await consume(client)).msBeforeNext;
    } catch (error) {
      if (error instanceof RateLimiterRes) throw tooMany(perMinute, unit, error.msBeforeNext);
      throw error;
    }
  };
  return blockSize === 1 ? async (client) => void (await take(client)) : takeInBlocks(blockSize, take);
}

/** Requests that come at the same time share a block: were each to take its own, a burst would use up the minute. */
function takeInBlocks(blockSize: number, take: (client: string) => Promise<number>): (client: string) => Promise<void> {
  const allowances = new Map<string, Allowance>();

  const refill = async (client: string, allowance: Allowance): Promise<void> => {
    try {
      allowance.expiresAtMs = await take(client);
      allowance.left = blockSize;
    } finally {
      allowance.refill = undefined;
    }
  };

  return async (client) => {
    const allowance = allowances.get(client) ?? { left: 0, expiresAtMs: 0, refill: undefined };
    allowances.set(client, allowance);
    while (allowance.left === 0 || Date.now() >= allowance.expiresAtMs) {
      allowance.refill ??= refill(client, allowance);
      await allowance.refill;
    }
    allowance.left -= 1;
  };
}

function tooMany(perMinute: number, unit: RateUnit, msBeforeNext: number): AppError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new AppError('RATE_LIMITED', `The limit is ${perMinute} ${unit}s a minute. Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
