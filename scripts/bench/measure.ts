import { setTimeout as sleep } from 'node:timers/promises';
import { type CpuTimes, divideCpuTimes, readCpuTimes, subtractCpuTimes } from './cpu-times.ts';
import type { LoadPlan, LoadResult } from './load/protocol.ts';
import { sendLoad } from './load/send-load.ts';
import type { BenchProcess } from './processes.ts';
import type { System } from './systems.ts';

/** How fast something was. */
export interface Rate {
  readonly system: string;
  readonly perSecond: number;
  /** Microseconds of CPU for each request, row or mail, by part. */
  readonly cpuMicros: CpuTimes;
}

export interface Measurement extends LoadResult, Rate {}

export interface MeasureParts {
  readonly generator: BenchProcess;
  readonly postgresPid: number;
  readonly redisPid: number;
}

export type Traffic = Pick<LoadPlan, 'keyPrefix' | 'keys' | 'keyCount' | 'connections' | 'warmupMs' | 'measureMs'> & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly expectedStatus: number;
};

// Lets the last run's removals and commits end before the next one begins.
const settleMs = 300;

/** Puts load on one system. Every answer must have the expected status: a fast refusal is no success. */
export async function measure(parts: MeasureParts, system: System, traffic: Traffic): Promise<Measurement> {
  const { headers, expectedStatus, ...rest } = traffic;
  const pids = new Map([
    ['generator', parts.generator.pid],
    ...system.processes.map(({ part, pid }): [string, number] => [part, pid]),
    ['postgres', parts.postgresPid],
    ['redis', parts.redisPid],
  ]);
  await sleep(settleMs);
  const before = readCpuTimes(pids);
  const result = await sendLoad(parts.generator, {
    ...rest,
    port: system.port,
    path: system.path,
    headers: { ...system.headers, ...headers },
    accounts: system.accounts,
  });
  const used = subtractCpuTimes(readCpuTimes(pids), before);
  const answers = countAnswers(result);
  if (result.statuses[expectedStatus] !== answers) {
    throw new Error(
      `WRONG: ${system.name} was to answer ${expectedStatus} and answered ${JSON.stringify(result.statuses)}.`,
    );
  }
  return { ...result, system: system.name, cpuMicros: divideCpuTimes(used, answers) };
}

export function countAnswers(result: LoadResult): number {
  return Object.values(result.statuses).reduce((sum, count) => sum + count, 0);
}
