import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findRunningPostgres } from '../embedded/postgres-server.ts';
import { startGuardian } from '../embedded/start-guardian.ts';
import { acquireRunningLock } from './running-lock.ts';
import { StartError } from './start-error.ts';

export interface OpenPostgres {
  readonly url: string;
  close(): Promise<void>;
}

/** The Postgres of the environment, else that of `npm start`: the running one, or started for as long as it is needed. */
export async function openPostgres(dataDir: string, environment: NodeJS.ProcessEnv): Promise<OpenPostgres> {
  const nothing = async () => {};
  if (environment.DATABASE_URL) return { url: environment.DATABASE_URL, close: nothing };
  const dir = join(dataDir, 'postgres');
  if (!existsSync(dir)) {
    throw new StartError(`DATABASE_URL is not set, and there is no embedded database in ${dataDir}.`);
  }
  const running = findRunningPostgres(dir);
  if (running !== undefined) return { url: running, close: nothing };
  const lock = await acquireRunningLock(dataDir);
  try {
    const guardian = await startGuardian({ dir: dataDir, ephemeral: false, postgres: { fsync: true } });
    const { databaseUrl: url } = guardian;
    if (url === undefined) throw new StartError('The embedded Postgres did not start.');
    const close = async () => {
      await guardian.stop();
      lock.release();
    };
    return { url, close };
  } catch (error) {
    lock.release();
    throw error;
  }
}
