import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll } from 'vitest';
import { Api } from './api.ts';
// First, so that its check for processes left behind runs after the clean-up below.
import './private-servers.ts';

export interface ServiceProcess {
  pid: number;
  /** The API of the process, if it has one. */
  api: Api;
  exited: Promise<number | null>;
  /** The messages of its log that are warnings or worse. */
  warnings: string[];
  signal: (signal: NodeJS.Signals) => void;
  /** kill -9, and waits until it is gone. */
  kill: () => Promise<void>;
  /** SIGTERM, and the exit code. */
  stop: () => Promise<number | null>;
}

const running = new Set<ServiceProcess>();

function spawnService(role: 'all' | 'api' | 'worker', environment: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ['dist/main.js', role], {
    env: { PATH: process.env.PATH, ...environment, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** A process that is to die by a failpoint, maybe before it has said that it is ready. */
export async function runUntilKilled(role: 'api' | 'worker', environment: Record<string, string>): Promise<void> {
  const child = spawnService(role, environment);
  child.stdout?.resume();
  const [, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL') throw new Error(`the process ended with ${signal}, not by its failpoint`);
}

/** A real process of the built service, as it runs in production. */
export async function startProcess(
  role: 'all' | 'api' | 'worker',
  environment: Record<string, string>,
): Promise<ServiceProcess> {
  const child = spawnService(role, environment);
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const warnings: string[] = [];
  const url = await readUrl(child, exited, warnings);
  const service: ServiceProcess = {
    pid: child.pid ?? 0,
    api: new Api(url),
    exited,
    warnings,
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    stop: async () => {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      return await exited;
    },
  };
  running.add(service);
  exited.then(() => running.delete(service));
  return service;
}

/** The log says where the API listens. What follows is read, so that the pipe never fills, and kept if it warns. */
async function readUrl(child: ChildProcess, exited: Promise<number | null>, warnings: string[]): Promise<string> {
  if (!child.stdout) throw new Error('the process has no output');
  const lines = createInterface({ input: child.stdout });
  const started = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      const entry = JSON.parse(line) as { level: number; msg: string; url?: string };
      if (entry.level >= 40) warnings.push(entry.msg);
      if (entry.msg === 'started') resolve(entry.url ?? '');
    });
  });
  const ended = exited.then((code) => {
    throw new Error(`the process ended at its start with code ${code}`);
  });
  return await Promise.race([started, ended]);
}

// Registered when a test file imports this: nothing that it started outlives it.
afterAll(async () => {
  await Promise.all([...running].map((service) => service.kill()));
});
