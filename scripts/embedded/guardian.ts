import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GuardianMessage, GuardianOptions } from './guardian-protocol.ts';
import { removeDistantCluster } from './postgres-cluster.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';
import { type RedisServer, startRedis } from './redis-server.ts';

// A process of its own that owns the embedded servers. It lives as long as its parent holds its stdin open, so that
// they end with the parent however that one ends.

const options: GuardianOptions = JSON.parse(process.argv[2] ?? '{}');
let postgres: PostgresServer | undefined;
let redis: RedisServer | undefined;
let ending: Promise<void> | undefined;

function tell(message: GuardianMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

async function stopAll(): Promise<void> {
  await Promise.all([postgres?.stop(options.ephemeral ? 'immediate' : 'fast'), redis?.stop()]);
  if (!options.ephemeral) return;
  for (const name of await readdir(options.dir)) await removeDistantCluster(join(options.dir, name));
  await rm(options.dir, { recursive: true, force: true });
}

function end(exitCode: number): Promise<void> {
  ending ??= starting.then(stopAll).then(
    () => process.exit(exitCode),
    (error: unknown) => {
      tell({ type: 'error', message: String(error) });
      process.exit(1);
    },
  );
  return ending;
}

async function startAll(): Promise<void> {
  await mkdir(options.dir, { recursive: true });
  const results = await Promise.allSettled([
    options.postgres ? startPostgres({ dir: join(options.dir, 'postgres'), ...options.postgres }) : undefined,
    options.redis ? startRedis({ dir: join(options.dir, 'redis'), ...options.redis }) : undefined,
  ] as const);
  const [postgresResult, redisResult] = results;
  if (postgresResult.status === 'fulfilled') postgres = postgresResult.value;
  if (redisResult.status === 'fulfilled') redis = redisResult.value;
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

function failWith(message: string): void {
  if (ending !== undefined) return;
  tell({ type: 'error', message });
  void end(1);
}

// The parent may be gone by the time something is written; that is no reason to leave servers behind.
process.stdout.on('error', () => {});
process.on('SIGTERM', () => void end(0));
process.stdin.on('end', () => void end(0));
process.stdin.on('error', () => void end(0));
process.stdin.resume();

const started = startAll();
// Ending waits for the start, so that no server is born after its keeper has gone.
const starting = started.catch(() => {});
started.then(
  () => {
    void postgres?.exited.then(() => failWith('Postgres ended unexpectedly; postgres.log says why.'));
    void redis?.exited.then(() => failWith('Redis ended unexpectedly; redis.log says why.'));
    tell({
      type: 'ready',
      ...(postgres ? { databaseUrl: postgres.url } : {}),
      ...(redis ? { redisUrl: redis.url } : {}),
      pids: [postgres?.pid, redis?.pid].filter((pid) => pid !== undefined),
    });
  },
  (error: unknown) => failWith(error instanceof Error ? error.message : String(error)),
);
