import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { testApiKey } from './api.ts';
import { root } from './sources.ts';

export interface BulkRun {
  readonly child: ChildProcess;
  /** What it printed so far, both streams together. */
  readonly output: () => string;
  readonly exitCode: Promise<number | null>;
}

/** `npm run bulk` as a person would run it; `directly`, without the script that starts it, so that it can be killed. */
export function startBulk(url: string, args: readonly string[], { directly = false } = {}): BulkRun {
  const program = directly ? ['--import', 'tsx', 'scripts/bulk-enqueue.ts'] : ['scripts/bootstrap.mjs', 'bulk'];
  const child = spawn(process.execPath, [...program, ...args, '--url', url], {
    cwd: root,
    env: { PATH: process.env.PATH, SEMEL_API_KEY: testApiKey },
    // A group of its own, so that a test can press Ctrl-C.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  return { child, output: () => output, exitCode: once(child, 'close').then(([code]) => code as number | null) };
}

/** Runs it to its end and reads the counts that it prints. */
export async function runBulk(url: string, args: readonly string[]) {
  const run = startBulk(url, args);
  const code = await run.exitCode;
  return { code, output: run.output(), ...countsIn(run.output()) };
}

export function countsIn(output: string): Record<string, number> {
  const counts = [...output.matchAll(/^(created|replayed|refused|failed|would send) +(\d+)$/gm)];
  return Object.fromEntries(counts.map(([, name = '', count]) => [name, Number(count)]));
}
