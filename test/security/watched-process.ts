import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll } from 'vitest';
import { eventually } from '../support/eventually.ts';

export interface WatchedProcess {
  url: string;
  /** Everything that it has written so far, to both outputs. */
  output: () => string;
  exited: Promise<void>;
  stop: () => Promise<void>;
}

const running = new Set<WatchedProcess>();

/** Starts the built service and keeps all that it says. Resolves when it has started, or has ended because it cannot. */
export async function startWatched(environment: Record<string, string>): Promise<WatchedProcess> {
  const child = spawn(process.execPath, ['dist/main.js', 'all'], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  let hasEnded = false;
  const exited = once(child, 'close').then(() => {
    hasEnded = true;
    running.delete(watched);
  });
  const watched: WatchedProcess = {
    url: '',
    output: () => output,
    exited,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
  running.add(watched);
  watched.url = await eventually(
    () => {
      const [, url = ''] = /"url":"([^"]+)"[^\n]*"msg":"started"/.exec(output) ?? [];
      if (url === '' && !hasEnded) throw new Error(`it has not started: ${output}`);
      return url;
    },
    { timeoutMs: 30_000 },
  );
  return watched;
}

// Nothing that a test file started outlives it.
afterAll(async () => {
  await Promise.all([...running].map((watched) => watched.stop()));
});
