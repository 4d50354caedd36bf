import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface BenchProcess {
  readonly name: string;
  readonly pid: number;
  readonly child: ChildProcess;
}

const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

// Semel finishes what is in hand within this time, unless something is wrong.
const stopTimeoutMs = 10_000;

/** The processes of a run. None outlives us: each ends when its channel to us closes, however that happens. */
export class Processes {
  readonly #logDir: string;
  readonly #children: ChildProcess[] = [];
  readonly #victims = new Set<ChildProcess>();
  #isStopping = false;
  #fail: (error: Error) => void = () => {};
  /** Rejects when one of them ends by itself. */
  readonly failed: Promise<never> = new Promise((_resolve, reject) => {
    this.#fail = reject;
  });

  constructor(logDir: string) {
    this.#logDir = logDir;
    // Nobody may be listening yet when a process fails to start.
    this.failed.catch(() => {});
  }

  /** A program of this folder. Resolves once it says that it is ready. */
  async startScript(name: string, script: string, environment: Record<string, string> = {}): Promise<BenchProcess> {
    const file = fileURLToPath(new URL(script, import.meta.url));
    const started = this.start(name, ['--import', tsx, file], environment);
    await Promise.race([once(started.child, 'message'), this.failed]);
    return started;
  }

  start(name: string, args: readonly string[], environment: Record<string, string>): BenchProcess {
    // A file and not a pipe: reading what they log would cost us the time that we measure.
    const log = openSync(join(this.#logDir, `${name}.log`), 'a');
    const child = spawn(process.execPath, args, {
      // Nothing else of our environment, so that Semel runs with its defaults whatever is set here.
      env: { PATH: process.env.PATH ?? '', ...environment },
      // Its own group: Ctrl-C reaches us alone, and we end the others.
      detached: true,
      stdio: ['ignore', log, 'inherit', 'ipc'],
    });
    this.#children.push(child);
    child.once('error', (error) => this.#fail(error));
    child.once('exit', (code, signal) => {
      if (!this.#isStopping && !this.#victims.has(child))
        this.#fail(new Error(`${name} ended unexpectedly (${signal ?? `exit code ${code}`}).`));
    });
    return { name, pid: child.pid ?? 0, child };
  }

  /** Ends it like a crash does. That it ends is then no failure. */
  async kill({ child }: BenchProcess): Promise<void> {
    this.#victims.add(child);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#children.map(stopChild));
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await exited;
  clearTimeout(timer);
}
