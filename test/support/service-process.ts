import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Api } from './api.ts';

export type ProcessRole = 'all' | 'api' | 'worker';

export interface ServiceProcess {
  pid: number;
  role: ProcessRole;
  /** The API of the process, if it has one. */
  api: Api;
  exited: Promise<number | null>;
  /** The messages of its log that are warnings or worse: the last ones, if there are many. */
  warnings: string[];
  /** False from the moment on that it has ended. */
  isRunning: () => boolean;
  signal: (signal: NodeJS.Signals) => void;
  /** kill -9, and waits until it is gone. */
  kill: () => Promise<void>;
  /** SIGTERM, and the exit code. */
  stop: () => Promise<number | null>;
}

/** A process that ended before it was ready; without a code, by a signal. */
export class EndedAtStart extends Error {
  readonly code: number | null;
  constructor(code: number | null) {
    super(`the process ended at its start with code ${code}`);
    this.code = code;
  }
}

export interface SpawnOptions {
  /** A program that runs the service, with its arguments, such as `prlimit --fsize=1000`. */
  under?: readonly string[];
  /** Where to keep what it logs. */
  logFile?: string | undefined;
}

export function spawnService(
  role: ProcessRole,
  environment: Record<string, string>,
  { under = [] }: SpawnOptions = {},
): ChildProcess {
  const [command = '', ...args] = [...under, process.execPath, 'dist/main.js', role];
  return spawn(command, args, {
    env: { PATH: process.env.PATH, ...environment, LOG_LEVEL: 'info' },
    // With a channel: the service ends when it closes, so that nothing outlives a run that is killed.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}

/** A real process of the built service, as it runs in production. It belongs to the caller, who has to end it. */
export async function startServiceProcess(
  role: ProcessRole,
  environment: Record<string, string>,
  options: SpawnOptions = {},
): Promise<ServiceProcess> {
  const child = spawnService(role, environment, options);
  let isRunning = true;
  const exited = once(child, 'exit').then(([code]) => {
    isRunning = false;
    return code as number | null;
  });
  const warnings: string[] = [];
  const url = await readUrl(child, exited, { warnings, logFile: options.logFile });
  const service: ServiceProcess = {
    pid: child.pid ?? 0,
    role,
    api: new Api(url),
    exited,
    warnings,
    isRunning: () => isRunning,
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
  return service;
}

/** The log says where the API listens. What follows is read, so that the pipe never fills, and kept if it warns. */
async function readUrl(
  child: ChildProcess,
  exited: Promise<number | null>,
  { warnings, logFile }: { warnings: string[]; logFile: string | undefined },
): Promise<string> {
  if (!child.stdout) throw new Error('the process has no output');
  const lines = createInterface({ input: child.stdout });
  if (logFile) child.stdout.pipe(createWriteStream(logFile, { flags: 'a' }));
  const started = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      // A process that is killed may end in the middle of a line.
      if (!line.endsWith('}')) return;
      const entry = JSON.parse(line) as { level: number; msg: string; url?: string };
      if (entry.level >= 40) warnings.splice(0, warnings.length, ...warnings.slice(-99), entry.msg);
      if (entry.msg === 'started') resolve(entry.url ?? '');
    });
  });
  const ended = exited.then((code) => {
    throw new EndedAtStart(code);
  });
  return await Promise.race([started, ended]);
}
