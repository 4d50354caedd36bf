import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { removeDistantCluster } from '../../scripts/embedded/postgres-cluster.ts';
import { startPostgres } from '../../scripts/embedded/postgres-server.ts';
import { isAlive } from '../../scripts/embedded/process-identity.ts';
import { expectGone } from '../support/npm-start.ts';
import { startPrivatePostgres, startPrivateRedis } from '../support/stores.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

async function makeFolder(mode: number): Promise<string> {
  const folder = await mkdtemp(join(inject('runDir'), 'embedded-'));
  await chmod(folder, mode);
  onTestFinished(async () => {
    await removeDistantCluster(join(folder, 'postgres'));
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

describe('the embedded Redis', () => {
  it('comes back on the same port with its data after kill -9', async () => {
    const server = await startPrivateRedis();
    const before = new Redis(server.url);
    await before.set('kept', 'yes');
    // The log is written before the answer and synced once a second; a killed process loses nothing of it.
    before.disconnect();
    await server.kill();
    await server.start();
    const after = new Redis(server.url);
    onTestFinished(() => after.disconnect());
    expect(await after.get('kept')).toBe('yes');
    expect(await after.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
  });
});

describe('the embedded Postgres', () => {
  it('comes back on the same port with its data after kill -9', async () => {
    const server = await startPrivatePostgres({ fsync: true });
    await query(server.url, 'create table kept as select 42 as answer');
    await server.kill();
    await server.start();
    expect(await query(server.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    expect(await query(server.url, 'show server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
  });

  it.each([
    { mode: 0o700, kind: 'only its owner can enter' },
    { mode: 0o711, kind: 'others can pass through' },
  ])('works in a folder that $kind, and keeps its data', async ({ mode }) => {
    const dir = join(await makeFolder(mode), 'postgres');
    const first = await startPostgres({ dir });
    onTestFinished(() => first.stop('immediate'));
    await query(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await startPostgres({ dir });
    onTestFinished(() => second.stop('immediate'));
    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    const isElsewhere = process.getuid?.() === 0 && mode === 0o700;
    expect(existsSync(join(dir, 'cluster-location'))).toBe(isElsewhere);
  });

  it('starts over the pid file of a killed one whose pid now belongs to a stranger', async () => {
    const dir = join(await makeFolder(0o711), 'postgres');
    const first = await startPostgres({ dir });
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const pidFile = join(dir, 'cluster', 'postmaster.pid');
    await writeFile(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(process.pid)));
    const second = await startPostgres({ dir });
    onTestFinished(() => second.stop('immediate'));
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('the guardian', () => {
  it('ends both servers and deletes what is temporary when its parent is killed', async () => {
    const dir = join(await makeFolder(0o711), 'run');
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', parentProgram(dir)], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pids = await new Promise<number[]>((resolve, reject) => {
      parent.once('exit', () => reject(new Error('the parent ended before its servers were ready')));
      parent.stdout.once('data', (chunk: Buffer) => resolve(JSON.parse(chunk.toString())));
    });
    expect(pids.map(isAlive)).toEqual([true, true, true]);
    parent.kill('SIGKILL');
    await expectGone(Object.fromEntries(pids.map((pid) => [String(pid), pid])));
    expect(existsSync(dir)).toBe(false);
  });
});

function parentProgram(dir: string): string {
  const options = { dir, ephemeral: true, postgres: { fsync: false }, redis: { persistent: false } };
  return `
    const { startGuardian } = await import('./scripts/embedded/start-guardian.ts');
    const guardian = await startGuardian(${JSON.stringify(options)});
    console.log(JSON.stringify([guardian.pid, ...guardian.pids]));
  `;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
