import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from './start-error.ts';

export interface Service {
  readonly pid: number;
  /** Resolves with how it ended. */
  readonly exited: Promise<string>;
  /** Asks it to finish what it has in hand and waits; kills it when that takes too long or somebody insists. */
  stop(timeoutMs: number, insisted: AbortSignal): Promise<void>;
}

export async function migrate(root: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const child = spawnRole(root, 'migrate', environment);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new StartError('The database could not be brought up to date; the lines above say why.');
}

export function startService(root: string, environment: NodeJS.ProcessEnv): Service {
  const child = spawnRole(root, 'all', environment);
  let hasExited = false;
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  }).finally(() => {
    hasExited = true;
  });
  const stop: Service['stop'] = async (timeoutMs, insisted) => {
    if (hasExited) return;
    child.kill('SIGTERM');
    const kill = (): void => void child.kill('SIGKILL');
    const timer = setTimeout(kill, timeoutMs);
    insisted.addEventListener('abort', kill);
    await exited;
    clearTimeout(timer);
    insisted.removeEventListener('abort', kill);
  };
  return { pid: child.pid ?? 0, exited, stop };
}

export async function waitUntilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      // A service that is up answers at once; five seconds is a service that hangs, and is asked again.
      const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) });
      await answer.arrayBuffer();
      if (answer.ok) return;
    } catch {
      // Nobody listens yet.
    }
    await sleep(50, undefined, { signal });
  }
}

function spawnRole(root: string, role: 'all' | 'migrate', environment: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [join(root, 'dist', 'main.js'), role], {
    cwd: root,
    env: environment,
    // Its own group: Ctrl-C reaches it once, from us. The channel tells it if we are gone.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}
