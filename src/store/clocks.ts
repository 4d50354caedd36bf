import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { RedisClient } from './redis.ts';

/** How far another clock is ahead of this process's. The truth is within `uncertaintyMs` of it. */
export interface ClockOffset {
  offsetMs: number;
  uncertaintyMs: number;
}

/**
 * Every process compares itself with the same Postgres. If each is within half a second of it, no two are more than a
 * second apart.
 */
const toleratedMs = 500;

/** The other clock was read at some moment between question and answer; the middle is the best guess. */
export async function measureOffset(askMs: () => Promise<number>, now: () => number = Date.now): Promise<ClockOffset> {
  const askedMs = now();
  const theirsMs = await askMs();
  const answeredMs = now();
  const uncertaintyMs = (answeredMs - askedMs) / 2;
  return { offsetMs: Math.round(theirsMs - askedMs - uncertaintyMs), uncertaintyMs };
}

export function measurePostgresClock(db: Database): Promise<ClockOffset> {
  return measureOffset(async () => {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms`.execute(db);
    return rows[0]?.ms ?? Number.NaN;
  });
}

export function measureRedisClock(redis: RedisClient): Promise<ClockOffset> {
  return measureOffset(async () => {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1_000 + Number(micros) / 1_000;
  });
}

/** What is wrong with the clock of this process, or undefined. What a slow answer leaves uncertain counts as fine. */
export function describeClockFault(offsets: { [name: string]: ClockOffset | undefined }): string | undefined {
  const faults = Object.entries(offsets).flatMap(([name, offset]) => {
    if (!offset || Math.abs(offset.offsetMs) - offset.uncertaintyMs <= toleratedMs) return [];
    const seconds = (Math.abs(offset.offsetMs) / 1_000).toFixed(1);
    return `${seconds} s ${offset.offsetMs > 0 ? 'behind' : 'ahead of'} that of ${name}`;
  });
  if (faults.length === 0) return undefined;
  return `The clock of this process is ${faults.join(' and ')}. Set all clocks by the same source, such as NTP: retries and expiry are off by as much.`;
}
