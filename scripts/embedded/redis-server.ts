import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { findOrInstallRedis } from './install-redis.ts';
import { readOrMakePassword } from './password-file.ts';
import { waitUntilGone, worksIn } from './process-identity.ts';
import { startOnFreePort, startServerProcess } from './server-process.ts';

export { findOrInstallRedis };

export interface RedisOptions {
  /** The server's own folder; its log is written beside it, as `<dir>.log`. */
  readonly dir: string;
  readonly port?: number;
  readonly persistent: boolean;
  /** Runs it as the only node of a cluster: it refuses what would span two nodes. */
  readonly cluster?: boolean;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const file = findOrInstallRedis();
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const dir = realpathSync(options.dir);
  const password = readOrMakePassword(dir);
  await endPredecessor(dir);
  return startOnFreePort(options.port, /already in use|Failed listening/i, async (port) => {
    const configFile = join(dir, 'redis.conf');
    writeFileSync(configFile, configuration(dir, port, password, options), { mode: 0o600 });
    const server = await startServerProcess({
      name: 'Redis',
      file,
      args: [configFile],
      cwd: dir,
      logFile: `${dir}.log`,
      orphanSignal: 'TERM',
      checkReady: () => ping(port, password),
    });
    return {
      url: `redis://:${password}@127.0.0.1:${port}`,
      port,
      pid: server.pid,
      exited: server.exited,
      // Writing the rest of its log takes well under a second; ten allow for a slow disk.
      stop: () => server.stop([{ signal: 'SIGTERM', graceMs: 10_000 }]),
    };
  });
}

/** BullMQ needs noeviction: a job that Redis drops to save memory would be lost without a trace. */
function configuration(dir: string, port: number, password: string, options: RedisOptions): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(dir)}`,
    `pidfile ${JSON.stringify(join(dir, 'redis.pid'))}`,
    'daemonize no',
    'save ""',
    `appendonly ${options.persistent ? 'yes' : 'no'}`,
    'appendfsync everysec',
    'maxmemory-policy noeviction',
    // A node without neighbours does not know its own address, which clients of a cluster ask for.
    ...(options.cluster ? ['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1'] : []),
    '',
  ].join('\n');
}

/** Redis does not guard its folder: two servers would write the same file. */
async function endPredecessor(dir: string): Promise<void> {
  let pid: number;
  try {
    pid = Number(readFileSync(join(dir, 'redis.pid'), 'utf8'));
  } catch {
    // No pid file: the last one ended in order, or there was none.
    return;
  }
  if (!Number.isInteger(pid) || pid <= 1 || !worksIn(pid, dir)) return;
  process.kill(pid, 'SIGTERM');
  // It only has to write its log; see stop().
  if (await waitUntilGone(pid, 10_000)) return;
  process.kill(pid, 'SIGKILL');
  await waitUntilGone(pid, 10_000);
}

function ping(port: number, password: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    let answer = '';
    socket.setEncoding('utf8');
    // A local server that is up answers in under a millisecond; a hung one is asked again.
    socket.setTimeout(2_000, () => socket.destroy(new Error('no answer to PING')));
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk: string) => {
      answer += chunk;
      if (answer.split('\r\n').length < 3) return;
      socket.destroy();
      if (answer.includes('+PONG')) resolve();
      else reject(new Error(answer.trim()));
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
}
