import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, inject } from 'vitest';
import { startPostgres } from '../../scripts/embedded/postgres-server.ts';
import { startRedis } from '../../scripts/embedded/redis-server.ts';
import { eventually } from './eventually.ts';
import { type PrivateServer, startRestartableServer } from './restartable-server.ts';

export type { PrivateServer } from './restartable-server.ts';

const servers = new Set<PrivateServer>();

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
  servers.add(server);
  return server;
}

function newFolder(name: string): string {
  return join(inject('runDir'), `${name}-${randomBytes(6).toString('hex')}`);
}

// Registered when a test file imports this, hence run after the file's own clean-up.
afterAll(async () => {
  await Promise.all([...servers].map((server) => server.stop()));
  // A process that was told to end may need a moment; one that is there after five seconds was forgotten.
  await eventually(
    () => {
      const left = listChildren();
      if (left.length > 0) throw new Error(`This test file leaves processes behind: ${left.join('; ')}`);
    },
    { timeoutMs: 5_000 },
  );
});

/** The commands of this process's living children, where the system can tell. */
function listChildren(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (Number(parent) !== process.pid || state === 'Z') return [];
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
}
