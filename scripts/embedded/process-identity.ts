import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A pid alone says little, since pids are used again; with its start time it names one process for good. */
export function startTimeOf(pid: number): string | undefined {
  return describe(pid)?.startTime;
}

/** A zombie counts as dead: in a container nobody may ever collect it. */
export function isAlive(pid: number): boolean {
  return describe(pid) !== undefined;
}

/** Both database servers work inside their data folder, which tells them from a stranger with the same pid. */
export function worksIn(pid: number, folder: string): boolean {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return /postgres|redis|valkey/.test(ps(pid, 'command='));
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder;
  } catch {
    // Only a process of another user hides its folder, and that one cannot be ours.
    return false;
  }
}

/** Resolves with true once the process is gone, with false if it still lives after the time given. */
export async function waitUntilGone(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) return false;
    // 20 ms is short beside any server's own shutdown and costs nothing.
    await sleep(20);
  }
  return true;
}

function describe(pid: number): { startTime: string } | undefined {
  if (process.platform !== 'linux') {
    const [state, ...startTime] = ps(pid, 'stat=,lstart=').trim().split(/\s+/);
    return state === undefined || state === '' || state.startsWith('Z')
      ? undefined
      : { startTime: startTime.join(' ') };
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state] = fields;
    return state === undefined || state === 'Z' || state === 'X' ? undefined : { startTime: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

function ps(pid: number, columns: string): string {
  try {
    return execFileSync('ps', ['-o', columns, '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    // ps fails exactly when there is no such process.
    return '';
  }
}
