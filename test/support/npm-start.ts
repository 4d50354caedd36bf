import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { findFreePort } from '../../scripts/embedded/free-port.ts';
import { isAlive } from '../../scripts/embedded/process-identity.ts';
import { quietNpm } from './doc-shell.ts';
import { eventually } from './eventually.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface StartOptions {
  environment?: NodeJS.ProcessEnv;
  /** What is typed at a shell. Without it, what npm would run is run without npm, which takes less time. */
  line?: string;
}

const what = ['scripts/bootstrap.mjs', 'start'];

/** A start as a person at a terminal would make it, with a data folder and a port of its own. */
export class NpmStart {
  readonly dataDir: string;
  readonly port: number;
  readonly process: ChildProcess;
  readonly exitCode: Promise<number | null>;
  output = '';

  private constructor(dataDir: string, port: number, { environment, line }: StartOptions) {
    this.dataDir = dataDir;
    this.port = port;
    const [file, args] = line === undefined ? [process.execPath, what] : ['bash', ['-c', line]];
    this.process = spawn(file, args, {
      cwd: root,
      env: { ...withoutServiceSettings(), SEMEL_DATA_DIR: dataDir, PORT: String(port), ...quietNpm, ...environment },
      // A group of its own, as a shell gives to each job, so that a test can press Ctrl-C.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.output += chunk;
      });
    }
    this.exitCode = new Promise((resolve) => this.process.once('close', (code) => resolve(code)));
  }

  static async in(dataDir: string, options: StartOptions = {}): Promise<NpmStart> {
    return new NpmStart(dataDir, await findFreePort(), options);
  }

  /** Resolves once the banner is printed, with its curl. */
  curl(): Promise<string> {
    return eventually(
      () => {
        const [command] = /curl (?:.*\\\n)*.*/.exec(this.output) ?? [];
        if (command === undefined) throw new Error(`No curl was printed:\n${this.output}`);
        return command;
      },
      // A first start may take fifteen seconds alone; here other tests use the same cores.
      { timeoutMs: 45_000 },
    );
  }

  /** As the terminal does it: to everyone in the foreground. */
  pressCtrlC(): void {
    if (this.process.pid !== undefined) process.kill(-this.process.pid, 'SIGINT');
  }

  /** What a kill from outside can hit, and what must be gone afterwards. */
  pids(): { start: number; service: number; postgres: number; redis: number } {
    const { pid, service } = JSON.parse(readFileSync(join(this.dataDir, 'running.json'), 'utf8'));
    const redis = Number(readFileSync(join(this.dataDir, 'redis', 'redis.pid'), 'utf8'));
    return { start: pid, service: service.pid, postgres: postmasterOf(this.dataDir), redis };
  }

  /** For clean-up after a failed test; a stopped start is left alone. */
  async end(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGTERM');
    await this.exitCode;
  }
}

export async function makeDataDir(): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(inject('runDir'), 'start-'));
  const path = join(folder, 'data');
  const remove = async (): Promise<void> => {
    const distant = clusterHome(path);
    await rm(distant, { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  };
  return { path, remove };
}

export async function expectGone(pids: Record<string, number>): Promise<void> {
  await eventually(
    () => {
      const left = Object.entries(pids).filter(([, pid]) => isAlive(pid));
      if (left.length > 0) throw new Error(`Still alive: ${JSON.stringify(Object.fromEntries(left))}`);
    },
    // The service's own limit for finishing its work is 25 seconds, though an idle one needs far less.
    { timeoutMs: 30_000 },
  );
}

/** As root the cluster lies elsewhere if Postgres's user cannot come to the data folder. */
function clusterHome(dataDir: string): string {
  const note = join(dataDir, 'postgres', 'cluster-location');
  return existsSync(note) ? readFileSync(note, 'utf8').trim() : join(dataDir, 'postgres');
}

function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(clusterHome(dataDir), 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** The settings of whoever runs the tests must not leak into the service under test. */
function withoutServiceSettings(): NodeJS.ProcessEnv {
  const ours = /^(SEMEL_|REDIS_|DATABASE_|PORT$|HOST$|NODE_ENV$|VITEST|npm_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
}
