import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { root } from '../support/sources.ts';

export interface OwnWorker {
  pid: number;
  exited: Promise<unknown>;
  signal: (signal: NodeJS.Signals) => void;
  /** Resolves once the process has stopped itself. */
  untilStopped: () => Promise<void>;
  close: () => Promise<void>;
}

const running = new Set<ChildProcess>();

/** A worker process with the operations of the tests. */
export async function startOwnWorker(environment: Record<string, string>): Promise<OwnWorker> {
  const script = join(root, 'test/faults/own-worker-process.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  const exited = once(child, 'exit').then(() => running.delete(child));
  await Promise.race([
    once(child.stdout, 'data'),
    exited.then(() => {
      throw new Error('the worker ended at its start');
    }),
  ]);
  const pid = child.pid ?? 0;
  return {
    pid,
    exited,
    signal: (signal) => void child.kill(signal),
    untilStopped: () => eventually(async () => expect(await stateOf(pid)).toBe('T')),
    close: async () => {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

export async function stateOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0];
}

// Whatever a failed test leaves behind.
afterEach(async () => {
  for (const child of [...running]) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
