import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeClock } from '../scripts/embedded/find-faketime.ts';
import { roles } from '../src/config.ts';
import { eventually } from './support/eventually.ts';
import { judge } from './support/judge.ts';
import { startProcess } from './support/processes.ts';
import { openTestStores, type TestStores } from './support/service.ts';
import { root } from './support/sources.ts';
import { startPrivatePostgres, startPrivateRedis } from './support/stores.ts';

let stores: TestStores;

beforeAll(async () => {
  stores = await openTestStores({ WAIT_SECONDS: '30' });
});

afterAll(() => stores.close());

/** Runs the service to its end, which comes soon if it refuses to start. */
async function run(role: string, environment: Record<string, string>): Promise<{ code: number; lines: string[] }> {
  const child = spawn(process.execPath, ['dist/main.js', role], {
    cwd: root,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [errors, , [code]] = await Promise.all([text(child.stderr), text(child.stdout), once(child, 'close')]);
  return { code, lines: errors.trimEnd().split('\n') };
}

describe('a start that cannot work ends with exit code 1 and one line', () => {
  it('for a role that does not exist, naming those that do', async () => {
    const { code, lines } = await run('nonsense', stores.environment);
    expect({ code, count: lines.length }).toEqual({ code: 1, count: 1 });
    for (const name of ['nonsense', ...roles]) expect(lines[0]).toContain(name);
  });

  it('for a missing DATABASE_URL', async () => {
    const { DATABASE_URL, ...others } = stores.environment;
    expect(await run('api', others)).toEqual({ code: 1, lines: ['DATABASE_URL is missing'] });
  });

  it('for an API or a worker on a database without migrations', async () => {
    const postgres = await startPrivatePostgres();
    const environment = { ...stores.environment, DATABASE_URL: postgres.url };
    for (const { code, lines } of await Promise.all([run('api', environment), run('worker', environment)])) {
      expect({ code, count: lines.length }).toEqual({ code: 1, count: 1 });
      expect(lines[0]).toMatch(
        /^The database lacks the migrations 0001_records, .*Run "node dist\/main.js migrate" first/,
      );
    }
    // And what the line advises helps.
    expect((await run('migrate', environment)).code).toBe(0);
    const service = await startProcess('worker', environment);
    expect(await service.stop()).toBe(0);
    await postgres.stop();
  });

  it('for a Postgres that is not there, or is there and says nothing', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    for (const role of ['api', 'migrate']) {
      for (const DATABASE_URL of ['postgres://127.0.0.1:1/semel', `postgres://127.0.0.1:${port}/semel`]) {
        const { code, lines } = await run(role, { ...stores.environment, DATABASE_URL });
        expect({ code, count: lines.length, lines }).toMatchObject({ code: 1, count: 1 });
        expect(lines[0]).toMatch(/^DATABASE_URL leads to no Postgres that answers: ./);
      }
    }
    silent.close();
  });

  it('for a Redis that may drop jobs', async () => {
    const redis = await startPrivateRedis({ persistent: false });
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    client.disconnect();
    expect(await run('worker', { ...stores.environment, REDIS_URL: redis.url })).toEqual({
      code: 1,
      lines: ['Redis has maxmemory-policy allkeys-lru, so it may drop jobs. Set it to noeviction.'],
    });
    await redis.stop();
  });
});

describe('a process whose clock is wrong', () => {
  it.each([
    [5, 'ahead of'],
    [-5, 'behind'],
  ])('by %d s starts, and says so in one line and in /health', async (seconds, direction) => {
    const service = await startProcess('all', { ...stores.environment, ...fakeClock(seconds) });
    const line = new RegExp(
      `^The clock of this process is [45]\\.\\d s ${direction} that of Postgres and [45]\\.\\d s ${direction} that of Redis\\.`,
    );
    expect(service.warnings.filter((warning) => warning.includes('clock'))).toEqual([expect.stringMatching(line)]);
    const { status, body } = await service.api.get('/health');
    expect([status, body.status]).toEqual([200, 'degraded']);
    expect(body.checks.clock).toMatchObject({ status: 'degraded', problem: expect.stringMatching(line) });
    expect(Math.abs(body.checks.clock.postgresOffsetMs + seconds * 1_000)).toBeLessThan(1_000);
    expect(await service.stop()).toBe(0);
  });
});

describe('SIGTERM', () => {
  it.each(['all', 'api', 'worker'] as const)('ends the role %s with exit code 0', async (role) => {
    const service = await startProcess(role, stores.environment);
    expect(await service.stop()).toBe(0);
  });

  it('lets a request in hand be answered before the process ends', async () => {
    const api = await startProcess('api', stores.environment);
    const key = randomUUID();
    // No worker is there yet, so that the request is sure to be waiting when the signal comes.
    const waiting = api.api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR', openingBalance: 5 }, { key });
    await eventually(async () => {
      const records = await stores.db.selectFrom('records').select('id').where('key', '=', key).execute();
      expect(records).toHaveLength(1);
    });
    api.signal('SIGTERM');
    await eventually(() => expect(isListening(api.api.url)).resolves.toBe(false));
    const worker = await startProcess('worker', stores.environment);

    expect((await waiting).status).toBe(201);
    expect(await api.exited).toBe(0);
    expect(await worker.stop()).toBe(0);
    await judge(stores.db);
  });

  it('sent twice ends at once', async () => {
    const api = await startProcess('api', stores.environment);
    const key = randomUUID();
    const waiting = api.api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR' }, { key }).catch(() => undefined);
    await eventually(async () => {
      const records = await stores.db.selectFrom('records').select('id').where('key', '=', key).execute();
      expect(records).toHaveLength(1);
    });
    api.signal('SIGTERM');
    await eventually(() => expect(isListening(api.api.url)).resolves.toBe(false));
    api.signal('SIGTERM');
    expect(await api.exited).toBe(1);
    expect(await waiting).toBeUndefined();
  });
});

async function isListening(url: string): Promise<boolean> {
  return await fetch(`${url}/health/live`).then(
    () => true,
    () => false,
  );
}
