import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateToLatest } from '../../src/store/migrate.ts';
import { Lab } from '../../test/support/lab/lab.ts';
import { startRestartableServer } from '../../test/support/restartable-server.ts';
import { startServiceProcess } from '../../test/support/service-process.ts';
import { removeDistantCluster } from '../embedded/postgres-cluster.ts';
import { startPostgres } from '../embedded/postgres-server.ts';
import { startRedis } from '../embedded/redis-server.ts';

export interface OpenLab {
  lab: Lab;
  close: () => Promise<void>;
}

/** A lab outside of the tests: stores of its own in a folder that is deleted at the end. */
export async function openLab(options: { seed: number; environment?: Record<string, string> }): Promise<OpenLab> {
  const dir = await mkdtemp(join(tmpdir(), 'semel-soak-'));
  // As root, Postgres runs as another user, who has to pass through here.
  await chmod(dir, 0o711);
  const [postgresDir, redisDir] = [join(dir, 'postgres'), join(dir, 'redis')];
  const withPort = (port: number | undefined) => (port === undefined ? {} : { port });
  const [postgres, redis] = await Promise.all([
    // Killed are processes and never the machine, so nothing depends on the disk.
    startRestartableServer(postgresDir, (port) => startPostgres({ dir: postgresDir, fsync: false, ...withPort(port) })),
    startRestartableServer(redisDir, (port) => startRedis({ dir: redisDir, persistent: true, ...withPort(port) })),
  ]);
  await migrateToLatest(postgres.url);
  const lab = await Lab.open({
    databaseUrl: postgres.url,
    postgres,
    redis,
    dataDir: join(dir, 'data'),
    environment: options.environment,
    proxied: ['postgres', 'redis'],
    startProcess: startServiceProcess,
    seed: options.seed,
    logDir: process.env.SEMEL_LAB_LOGS,
  });
  const close = async () => {
    await lab.close();
    await Promise.all([postgres.stop(), redis.stop()]);
    await removeDistantCluster(postgresDir);
    await rm(dir, { recursive: true, force: true });
  };
  return { lab, close };
}
