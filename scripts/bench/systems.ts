import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { findFreePort } from '../embedded/free-port.ts';
import { migrate, waitUntilReady } from '../start/service.ts';
import { createNaiveAccounts, createSemelAccounts } from './accounts.ts';
import type { BenchProcess, Processes } from './processes.ts';

/** Something that takes requests, as the generator and the report see it. */
export interface System {
  readonly name: 'echo' | 'naive' | 'Semel';
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly accounts: readonly string[];
  readonly processes: readonly { readonly part: string; readonly pid: number }[];
}

export interface StoreUrls {
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

// A healthy start takes about a second.
const startTimeoutMs = 30_000;

// On, so that its cost is part of the figures, and out of reach.
const rateLimitPerMinute = 1_000_000_000;

// The default, said here because nodemailer's pool gets the same.
export const mailConnections = 10;

export async function startEcho(processes: Processes): Promise<System> {
  const port = await findFreePort();
  const server = await processes.startScript('echo', 'baselines/echo-server.ts', { PORT: String(port) });
  const accounts = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
  return { name: 'echo', port, path: '/', headers: {}, accounts, processes: [toPart('api', server)] };
}

export async function startNaive(processes: Processes, urls: StoreUrls): Promise<System> {
  const { databaseUrl, accounts } = await createNaiveAccounts(urls.databaseUrl);
  const port = await findFreePort();
  const environment = { PORT: String(port), DATABASE_URL: databaseUrl, REDIS_URL: urls.redisUrl };
  const worker = await processes.startScript('naive-worker', 'baselines/naive-worker.ts', environment);
  const api = await processes.startScript('naive-api', 'baselines/naive-api.ts', environment);
  const parts = [toPart('api', api), toPart('worker', worker)];
  return { name: 'naive', port, path: '/transfers', headers: {}, accounts, processes: parts };
}

export interface SemelPlace {
  readonly root: string;
  readonly dataDir: string;
  readonly profileDir: string | undefined;
  /** Nothing is sent there unless a mailing is uploaded. */
  readonly mailUrl: string;
}

export async function startSemel(processes: Processes, urls: StoreUrls, place: SemelPlace): Promise<System> {
  const port = await findFreePort();
  const apiKey = `semel_${randomBytes(24).toString('hex')}`;
  const environment = {
    DATABASE_URL: urls.databaseUrl,
    REDIS_URL: urls.redisUrl,
    PORT: String(port),
    SEMEL_API_KEY: apiKey,
    SEMEL_DATA_DIR: place.dataDir,
    RATE_LIMIT_PER_MINUTE: String(rateLimitPerMinute),
    MAIL_URL: place.mailUrl,
    MAIL_CONNECTIONS: String(mailConnections),
  };
  await migrate(place.root, { PATH: process.env.PATH, ...environment });
  const start = (role: 'api' | 'worker'): BenchProcess =>
    processes.start(
      `semel-${role}`,
      [...profileFlags(place, role), join(place.root, 'dist', 'main.js'), role],
      environment,
    );
  const [api, worker] = [start('api'), start('worker')];
  const url = `http://127.0.0.1:${port}`;
  await Promise.race([waitUntilReady(url, AbortSignal.timeout(startTimeoutMs)), processes.failed]);
  const accounts = await createSemelAccounts(url, apiKey);
  const headers = { authorization: `Bearer ${apiKey}` };
  const parts = [toPart('api', api), toPart('worker', worker)];
  return { name: 'Semel', port, path: '/v1/transfers', headers, accounts, processes: parts };
}

function profileFlags({ profileDir }: SemelPlace, role: string): string[] {
  if (profileDir === undefined) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${profileDir}`, `--cpu-prof-name=semel-${role}.cpuprofile`];
}

function toPart(part: string, { pid }: BenchProcess): System['processes'][number] {
  return { part, pid };
}
