import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readMemory } from '../mailings/memory.ts';
import type { System } from '../systems.ts';

const script = fileURLToPath(new URL('../../bulk-enqueue.ts', import.meta.url));
// Often enough not to miss how the memory grows; the peak itself is kept by the system.
const lookMs = 50;

export interface ScriptResult {
  readonly created: number;
  readonly replayed: number;
  /** By the script's own clock, from the first row to the last answer. */
  readonly perSecond: number;
  readonly peakMb: number | undefined;
}

export interface ScriptRun {
  readonly child: ChildProcess;
  readonly ended: Promise<ScriptResult>;
}

/** `npm run bulk`, without what npm and the bootstrap add. */
export function startScript(semel: System, file: string): ScriptRun {
  const url = `http://127.0.0.1:${semel.port}`;
  const args = ['--import', 'tsx', script, file, '--operation', 'transfer.create', '--url', url];
  const apiKey = semel.headers.authorization?.replace('Bearer ', '');
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH ?? '', SEMEL_API_KEY: apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, ended: watch(child) };
}

async function watch(child: ChildProcess): Promise<ScriptResult> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close');
  let peakMb: number | undefined;
  while (child.exitCode === null && child.signalCode === null) {
    try {
      peakMb = readMemory(child.pid ?? 0)?.peakMb || peakMb;
    } catch {
      // It ended while we looked.
    }
    await sleep(lookMs);
  }
  await closed;
  if (child.signalCode === 'SIGKILL') return { created: 0, replayed: 0, perSecond: 0, peakMb };
  if (child.exitCode !== 0) throw new Error(`WRONG: npm run bulk ended with ${child.exitCode}:\n${output}`);
  const read = (pattern: RegExp) => Number(pattern.exec(output)?.[1]);
  return {
    created: read(/^created +(\d+)$/m),
    replayed: read(/^replayed +(\d+)$/m),
    perSecond: read(/(\d+) in a second$/m),
    peakMb,
  };
}
