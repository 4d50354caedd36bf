import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { inject } from 'vitest';
import { startPostgres } from '../../scripts/embedded/postgres-server.ts';
import { startRedis } from '../../scripts/embedded/redis-server.ts';
import { atFileEnd } from './at-file-end.ts';
import { type PrivateServer, startRestartableServer } from './restartable-server.ts';

export type { PrivateServer } from './restartable-server.ts';

export function startPrivateRedis(options: { persistent?: boolean; cluster?: boolean } = {}): Promise<PrivateServer> {
  const { persistent = true, cluster = false } = options;
  const dir = newFolder('redis');
  return startPrivateServer(dir, (port) =>
    startRedis({ dir, persistent, cluster, ...(port === undefined ? {} : { port }) }),
  );
}

/** Its URL is that of an empty database; `migrateToLatest` makes it a usable one. */
export function startPrivatePostgres({ fsync = false }: { fsync?: boolean } = {}): Promise<PrivateServer> {
  const dir = newFolder('postgres');
  return startPrivateServer(dir, (port) => startPostgres({ dir, fsync, ...(port === undefined ? {} : { port }) }));
}

async function startPrivateServer(...[dir, start]: Parameters<typeof startRestartableServer>): Promise<PrivateServer> {
  const server = await startRestartableServer(dir, start);
  atFileEnd(() => server.stop());
  return server;
}

function newFolder(name: string): string {
  return join(inject('runDir'), `${name}-${randomBytes(6).toString('hex')}`);
}
