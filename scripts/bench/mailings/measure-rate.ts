import { setTimeout as sleep } from 'node:timers/promises';
import { divideCpuTimes, readCpuTimes, subtractCpuTimes } from '../cpu-times.ts';
import type { Rate } from '../measure.ts';
import type { Timed } from './protocol.ts';

// Lets what the last run left to do end before the next one begins.
const settleMs = 500;

/** Times come from whoever does the work; the CPU times are those of the parts meanwhile. */
export async function measureRate(
  system: string,
  parts: ReadonlyMap<string, number>,
  work: () => Promise<Timed>,
): Promise<Rate> {
  await sleep(settleMs);
  const before = readCpuTimes(parts);
  const { count, tookMs } = await work();
  const used = subtractCpuTimes(readCpuTimes(parts), before);
  return { system, perSecond: (count * 1_000) / tookMs, cpuMicros: divideCpuTimes(used, count) };
}
