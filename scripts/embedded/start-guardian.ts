import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { GuardianMessage, GuardianOptions } from './guardian-protocol.ts';
import { isAlive } from './process-identity.ts';

export interface Guardian {
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly pid: number;
  /** The embedded servers' own. */
  readonly pids: readonly number[];
  /** Resolves when the guardian has ended, with what it had to say about it. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

// The servers' own limits add up to less than this; whoever still hangs is then killed with them.
const stopTimeoutMs = 40_000;

/** Starts the embedded servers under a guardian and resolves once they answer. */
export function startGuardian(options: GuardianOptions): Promise<Guardian> {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const program = fileURLToPath(new URL('./guardian.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', tsx, program, JSON.stringify(options)], {
    // Its own group, so that Ctrl-C in the terminal does not reach it before the service has drained.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let pids: readonly number[] = [];
  let lastError = 'The guardian of the embedded servers ended unexpectedly.';
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    // 'close' and not 'exit': its last line is read by then.
    child.once('close', () => {
      for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      resolve(lastError);
    });
  });
  child.stdin.on('error', () => {});

  const stop = async (): Promise<void> => {
    child.stdin.end();
    const timer = new AbortController();
    const isLate = sleep(stopTimeoutMs, true, { signal: timer.signal }).catch(() => false);
    if (await Promise.race([exited.then(() => false), isLate])) child.kill('SIGKILL');
    timer.abort();
    await exited;
  };

  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message: GuardianMessage = JSON.parse(line);
      if (message.type === 'error') {
        lastError = message.message;
        return;
      }
      pids = message.pids;
      const { databaseUrl, redisUrl } = message;
      resolve({ databaseUrl, redisUrl, pid: child.pid ?? 0, pids, exited, stop });
    });
    void exited.then((reason) => reject(new Error(reason)));
  });
}
