import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fakeClock } from '../../../scripts/embedded/find-faketime.ts';
import { isAlive } from '../../../scripts/embedded/process-identity.ts';
import type { Lab, StartOptions } from './lab.ts';

/** Redis is killed, something may happen to its data, and after a moment it is back. */
export async function restartRedis(lab: Lab, meanwhile: () => void = () => undefined, awayMs = 500): Promise<void> {
  await lab.parts.redis.kill();
  meanwhile();
  // Away for long enough that requests come while it is.
  await pause(awayMs);
  await lab.parts.redis.start();
}

/** The last bytes of the append-only file, as a crash of the machine leaves it. */
export function truncateAppendOnlyFile(lab: Lab): void {
  const folder = join(lab.parts.redis.dir, 'appendonlydir');
  const file = readdirSync(folder).find((name) => name.endsWith('.incr.aof'));
  if (!file) throw new Error('there is no append-only file');
  const path = join(folder, file);
  truncateSync(path, Math.max(0, statSync(path).size - 20_000));
}

export function loseAppendOnlyFile(lab: Lab): void {
  rmSync(join(lab.parts.redis.dir, 'appendonlydir'), { recursive: true, force: true });
}

/** Postgres ends without a checkpoint and without a word to its clients, and is started again. */
export async function restartPostgres(lab: Lab, signal: 'SIGQUIT' | 'SIGKILL'): Promise<void> {
  const { postgres } = lab.parts;
  if (!postgres) throw new Error('this needs a Postgres of its own');
  const pid = postgres.pid();
  process.kill(pid, signal);
  while (isAlive(pid)) await pause(10);
  await pause(300);
  await postgres.start();
}

/** Ends every connection of the service to Postgres. Returns how many that were. */
export async function terminateBackends(lab: Lab): Promise<number> {
  const { rowCount } = await lab.db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name like 'semel%'`,
  );
  return rowCount ?? 0;
}

/** Does something in a transaction and holds it open for a while. */
export async function holdOpen(lab: Lab, statement: string, durationMs: number): Promise<void> {
  const client = await lab.db.connect();
  try {
    await client.query('begin');
    await client.query(statement);
    await pause(durationMs);
    await client.query('commit');
  } finally {
    client.release();
  }
}

/** Takes row locks in the order that nobody else does. It is patient, so mostly it is the service that is refused. */
export async function lockBackwards(lab: Lab): Promise<void> {
  const ids = lab.load.accounts.toSorted();
  const client = await lab.db.connect();
  try {
    await client.query(`set deadlock_timeout = '2s'`);
    await client.query('begin');
    await client.query('select 1 from accounts where id = $1 for update', [ids.at(-1)]);
    // Long enough that somebody holds the others and waits for this one.
    await pause(200);
    await client.query('select 1 from accounts where id = any ($1) order by id desc for update', [ids]);
    await client.query('commit');
  } catch {
    // On a busy machine the service may have looked for a deadlock before there was one. Then the refusal is ours.
    await client.query('rollback');
  } finally {
    client.release();
  }
}

/** Every lock that there is in Redis: those on jobs, and those on records. Returns how many that were. */
export async function deleteLocks(lab: Lab): Promise<number> {
  const keys = [...(await lab.redis.keys('*:lock')), ...(await lab.redis.keys('*:lock:*'))];
  return keys.length > 0 ? await lab.redis.del(keys) : 0;
}

/** The clock that tells the time of day is shifted; the one that measures durations is not. */
export function shiftedBy(hours: 1 | -1): StartOptions {
  return { environment: fakeClock(hours * 3_600) };
}
