import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchProcess, Processes } from '../bench/processes.ts';
import { findFreePort } from '../embedded/free-port.ts';
import { type Guardian, startGuardian } from '../embedded/start-guardian.ts';
import { migrate, waitUntilReady } from '../start/service.ts';

export interface Installation {
  readonly url: string;
  readonly apiKey: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Rejects when something ends that was not told to. */
  readonly failed: Promise<never>;
  startWorker(): BenchProcess;
  /** With -9: it can finish nothing and tell nobody. */
  kill(victim: BenchProcess): Promise<void>;
  stop(): Promise<void>;
}

// A healthy start takes about a second; a machine that is busy with other things may need several.
const startTimeoutMs = 60_000;

/** Postgres, Redis and an API in a folder that goes with them, on free ports, with the settings that Semel has by default. */
export async function startInstallation(root: string, mailUrl: string): Promise<Installation> {
  const dir = await mkdtemp(join(tmpdir(), 'semel-demo-'));
  // As root, Postgres runs as another user, who has to pass through here.
  await chmod(dir, 0o711);
  const stores = await startGuardian({
    dir,
    ephemeral: true,
    postgres: { fsync: true },
    redis: { persistent: true },
  });
  const processes = new Processes(dir);
  const stop = async (): Promise<void> => {
    await processes.stop();
    await stores.stop();
  };
  const storesFailed = stores.exited.then((reason) => Promise.reject(new Error(reason)));
  const failed = Promise.race([processes.failed, storesFailed]);
  // Whoever races against it hears of it; until then nobody does.
  failed.catch(() => {});
  try {
    const settings = await makeSettings(stores, dir, mailUrl);
    const start = (name: string, role: 'api' | 'worker'): BenchProcess =>
      processes.start(name, [join(root, 'dist', 'main.js'), role], settings);
    await migrate(root, { PATH: process.env.PATH, ...settings });
    start('api', 'api');
    const url = `http://127.0.0.1:${settings.PORT}`;
    await Promise.race([waitUntilReady(url, AbortSignal.timeout(startTimeoutMs)), failed]);
    let workers = 0;
    return {
      url,
      apiKey: settings.SEMEL_API_KEY,
      databaseUrl: settings.DATABASE_URL,
      redisUrl: settings.REDIS_URL,
      failed,
      startWorker: () => start(`worker-${++workers}`, 'worker'),
      kill: (victim) => processes.kill(victim),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeSettings({ databaseUrl, redisUrl }: Guardian, dir: string, mailUrl: string) {
  if (!databaseUrl || !redisUrl) throw new Error('The guardian started no servers.');
  const dataDir = join(dir, 'semel');
  await mkdir(dataDir);
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    PORT: String(await findFreePort()),
    SEMEL_API_KEY: `semel_${randomBytes(24).toString('hex')}`,
    SEMEL_DATA_DIR: dataDir,
    MAIL_URL: mailUrl,
  };
}
