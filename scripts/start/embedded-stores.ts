import { findOrInstallRedis } from '../embedded/redis-server.ts';
import { startGuardian } from '../embedded/start-guardian.ts';
import { StartError } from './start-error.ts';

export interface Stores {
  /** What the service needs to find those that are embedded. */
  readonly environment: { readonly DATABASE_URL?: string; readonly REDIS_URL?: string };
  /** Resolves with a reason if an embedded server ends by itself. */
  readonly failed: Promise<string>;
  stop(): Promise<void>;
}

/** Embedded Postgres and Redis, each unless the environment names another. */
export async function startStores(
  dataDir: string,
  environment: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<Stores> {
  const needsPostgres = !environment.DATABASE_URL;
  const needsRedis = !environment.REDIS_URL && !environment.REDIS_CLUSTER && !environment.REDIS_SENTINELS;
  if (!needsPostgres && !needsRedis) {
    return { environment: {}, failed: new Promise(() => {}), stop: async () => {} };
  }
  try {
    if (needsRedis) findOrInstallRedis(onProgress);
    onProgress(`Starting ${[needsPostgres && 'Postgres', needsRedis && 'Redis'].filter(Boolean).join(' and ')} …`);
    const guardian = await startGuardian({
      dir: dataDir,
      ephemeral: false,
      ...(needsPostgres ? { postgres: { fsync: true } } : {}),
      ...(needsRedis ? { redis: { persistent: true } } : {}),
    });
    const { databaseUrl, redisUrl } = guardian;
    return {
      environment: {
        ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
        ...(redisUrl ? { REDIS_URL: redisUrl } : {}),
      },
      failed: guardian.exited,
      stop: guardian.stop,
    };
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
