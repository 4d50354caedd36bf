import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from './free-port.ts';
import { leash } from './leash.ts';

export interface ServerCommand {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly logFile: string;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** What asks this server for an orderly end when our own process is gone. */
  readonly orphanSignal: 'QUIT' | 'TERM';
  /** Connects to the server; throws while it is not ready. */
  readonly checkReady: () => Promise<void>;
}

export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Sends each signal in turn: the next one if the process still lives after the time given. */
  stop(steps: readonly StopStep[]): Promise<void>;
}

export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
}

/** The server ended before it was ready; `log` is what it had to say. */
export class ServerStartError extends Error {
  readonly log: string;
  constructor(name: string, log: string) {
    super(`${name} did not start: ${lastLine(log)}`);
    this.log = log;
  }
}

// Replaying a long log after a crash takes a while; a server that is silent for longer than this is broken.
const readyTimeoutMs = 120_000;
// Short beside the start of either server, so that a test run does not wait for us.
const readyPollMs = 20;
// A killed process is gone at once, unless its disk hangs; then waiting on does not help either.
const killGraceMs = 10_000;

/** Starts a server and resolves once it answers. */
export async function startServerProcess(command: ServerCommand): Promise<ServerProcess> {
  const log = openSync(command.logFile, 'a', 0o600);
  const logStart = fstatSync(log).size;
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    stdio: ['ignore', log, log],
    // Its own group: Ctrl-C in the terminal must not reach it before the service has drained.
    detached: true,
    ...(command.user ? { uid: command.user.uid, gid: command.user.gid } : {}),
  });
  closeSync(log);
  const running = superviseChild(child, command.orphanSignal);
  try {
    await waitUntilReady(command, running);
  } catch (error) {
    await running.stop([]);
    if (!(error instanceof ServerStartError)) throw error;
    const output = readFileSync(command.logFile).subarray(logStart).toString('utf8');
    throw new ServerStartError(command.name, error.log + output);
  }
  return running;
}

/** Tries again on another port, or a little later on the given one, if the first was taken in between. */
export async function startOnFreePort<T>(
  givenPort: number | undefined,
  retryOn: RegExp,
  start: (port: number) => Promise<T>,
): Promise<T> {
  // A given port may be in use by a predecessor that is about to end: about six seconds of patience.
  const attempts = 30;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(givenPort ?? (await findFreePort()));
    } catch (error) {
      if (attempt === attempts || !(error instanceof ServerStartError) || !retryOn.test(error.log)) throw error;
      await sleep(200);
    }
  }
}

function superviseChild(child: ChildProcess, orphanSignal: ServerCommand['orphanSignal']): ServerProcess {
  const { pid } = child;
  const letGo = pid === undefined ? undefined : leash(pid, orphanSignal);
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  }).then(() => letGo?.());
  const stop: ServerProcess['stop'] = async (steps) => {
    let isRunning = pid !== undefined;
    exited.then(() => {
      isRunning = false;
    });
    for (const { signal, graceMs } of [...steps, { signal: 'SIGKILL', graceMs: killGraceMs } as const]) {
      await Promise.resolve();
      if (!isRunning || child.exitCode !== null || child.signalCode !== null) break;
      child.kill(signal);
      const timer = new AbortController();
      await Promise.race([exited, sleep(graceMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
      timer.abort();
    }
    await exited;
  };
  return { pid: pid ?? 0, exited, stop };
}

async function waitUntilReady(command: ServerCommand, server: ServerProcess): Promise<void> {
  let hasExited = false;
  server.exited.then(() => {
    hasExited = true;
  });
  const deadline = Date.now() + readyTimeoutMs;
  let lastError: unknown;
  while (Date.now() < deadline) {
    if (hasExited) throw new ServerStartError(command.name, server.pid === 0 ? `cannot run ${command.file}\n` : '');
    try {
      await command.checkReady();
      // Somebody else may have answered on this port while our own process failed to take it.
      await sleep(readyPollMs);
      if (!hasExited) return;
    } catch (error) {
      lastError = error;
      await sleep(readyPollMs);
    }
  }
  throw new ServerStartError(command.name, `no answer within ${readyTimeoutMs / 1000} s: ${String(lastError)}\n`);
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
