import { readFileSync } from 'node:fs';

/** Milliseconds of CPU since some point in the past, by part of the system. */
export type CpuTimes = ReadonlyMap<string, number>;

// Linux counts in hundredths of a second on every platform that Node runs on.
const msPerTick = 10;

/** Reads the CPU time of each process and of its children. Empty where the system does not tell. */
export function readCpuTimes(parts: ReadonlyMap<string, number>): CpuTimes {
  if (process.platform !== 'linux') return new Map();
  return new Map([...parts].map(([name, pid]) => [name, timeOf(pid)]));
}

export function subtractCpuTimes(after: CpuTimes, before: CpuTimes): CpuTimes {
  return new Map([...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)]));
}

/** Microseconds for each of so many. */
export function divideCpuTimes(times: CpuTimes, count: number): CpuTimes {
  return new Map([...times].map(([part, ms]) => [part, (ms * 1_000) / count]));
}

function timeOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold spaces. After it: state, parent, …, utime, stime, and those of ended children.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const own = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * msPerTick;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    return children.reduce((sum, child) => sum + timeOf(Number(child)), own);
  } catch {
    // A child that ended meanwhile is in its parent's count the next time.
    return 0;
  }
}
