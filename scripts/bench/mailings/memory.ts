import { readFileSync, writeFileSync } from 'node:fs';

/** Mebibytes of memory that a process has, and the most that it had. Undefined where the system does not tell. */
export function readMemory(pid: number): { nowMb: number; peakMb: number } | undefined {
  if (process.platform !== 'linux') return undefined;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024;
  return { nowMb: read('VmRSS'), peakMb: read('VmHWM') };
}

/** The most that it had begins with what it has now. */
export function forgetPeak(pid: number): void {
  if (process.platform === 'linux') writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
