import { mkdirSync, realpathSync } from 'node:fs';
import pg from 'pg';
import { readOrMakePassword } from './password-file.ts';
import { preparePostgresBinaries } from './postgres-binaries.ts';
import { endPredecessor, findPostmaster, openCluster } from './postgres-cluster.ts';
import { type StopStep, startOnFreePort, startServerProcess } from './server-process.ts';
import { findPostgresUser } from './unprivileged-user.ts';

export interface PostgresOptions {
  /** The server's own folder; its log is written beside it, as `<dir>.log`. */
  readonly dir: string;
  readonly port?: number;
  /** False only where the data may be lost with the machine, as in tests. */
  readonly fsync?: boolean;
}

export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<void>;
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
}

const database = 'semel';
const superuser = 'semel';

// "fast" disconnects everyone and writes a checkpoint: ten seconds for a slow disk. "immediate" only has to end
// its processes. Either way nothing that was committed is lost.
const immediate: readonly StopStep[] = [{ signal: 'SIGQUIT', graceMs: 5_000 }];
const fast: readonly StopStep[] = [{ signal: 'SIGINT', graceMs: 10_000 }, ...immediate];

export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const user = findPostgresUser();
  const binaries = await preparePostgresBinaries(user);
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const dir = realpathSync(options.dir);
  const password = readOrMakePassword(dir);
  const fsync = options.fsync ?? true;
  const cluster = await openCluster({ dir, binaries, user, superuser: { name: superuser, password }, fsync });
  await endPredecessor(cluster);
  // "still in use" is said of memory that the processes of a killed postmaster hold until they notice.
  const retryOn = /Address already in use|still in use/i;
  return startOnFreePort(options.port, retryOn, async (port) => {
    const urlOf = (name: string): string => urlTo({ port, password, name });
    const server = await startServerProcess({
      name: 'Postgres',
      file: binaries.postgres,
      args: ['-D', cluster, ...settings(port, fsync)],
      cwd: cluster,
      logFile: `${dir}.log`,
      user,
      orphanSignal: 'QUIT',
      checkReady: () => createDatabaseIfMissing(urlOf('postgres')),
    });
    return {
      url: urlOf(database),
      port,
      pid: server.pid,
      exited: server.exited,
      stop: (mode = 'fast') => server.stop(mode === 'fast' ? fast : immediate),
    };
  });
}

/** Where the server of that folder can be reached, if it runs, whoever started it. */
export function findRunningPostgres(dir: string): string | undefined {
  const postmaster = findPostmaster(dir);
  return postmaster && urlTo({ port: postmaster.port, password: readOrMakePassword(dir), name: database });
}

function urlTo({ port, password, name }: { port: number; password: string; name: string }): string {
  return `postgres://${superuser}:${password}@127.0.0.1:${port}/${name}`;
}

function settings(port: number, fsync: boolean): string[] {
  const values: Record<string, string> = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    ...(fsync ? {} : { fsync: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Also the test of readiness: a server that can do this is ready for everything. */
async function createDatabaseIfMissing(url: string): Promise<void> {
  // A local server that is up accepts in milliseconds; a hung one is asked again.
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
    if (rowCount === 0) await client.query(`create database ${database}`);
  } finally {
    await client.end();
  }
}
