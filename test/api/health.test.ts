import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';
import { startPrivateRedis } from '../support/stores.ts';
import { sendRaw } from './raw-request.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const fine = { status: 'ok', responseTimeMs: expect.any(Number) };

describe('/health', () => {
  it('tells of all seven parts, with how long each took to answer', async () => {
    // A worker that is just starting may not be seen yet.
    await eventually(async () => {
      const answer = await service.api.get('/health');
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        status: 'ok',
        checks: {
          database: fine,
          migrations: fine,
          redis: fine,
          clock: { ...fine, postgresOffsetMs: expect.any(Number), redisOffsetMs: expect.any(Number) },
          storage: fine,
          outbox: { ...fine, lagSeconds: expect.any(Number), pending: expect.any(Number), quarantined: 0 },
          workers: { ...fine, count: 1 },
        },
      });
    });
  });

  it.each(['/health', '/health/live', '/health/ready'])('%s is open to all', async (path) => {
    const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const answer = await sendRaw(service.api.url, bytes);
    expect([answer.status, answer.body.status]).toEqual([200, 'ok']);
    expect(answer.headers['x-request-id']).toEqual(expect.any(String));
  });

  it('/health/live and /health/ready say no more than the status', async () => {
    expect((await service.api.get('/health/live')).body).toEqual({ status: 'ok' });
    expect((await service.api.get('/health/ready')).body).toEqual({ status: 'ok' });
  });
});

describe('an API without workers', () => {
  it('is degraded but ready, because it takes requests', async () => {
    const other = await startTestService({ role: 'api' });
    try {
      const { body, status } = await other.api.get('/health');
      expect([status, body.status]).toEqual([200, 'degraded']);
      expect(body.checks.workers).toMatchObject({ status: 'degraded', count: 0 });
      expect(body.checks.database.status).toBe('ok');
      const ready = await other.api.get('/health/ready');
      expect([ready.status, ready.body]).toEqual([200, { status: 'degraded' }]);
    } finally {
      await other.close();
    }
  });

  it('sees the workers of other processes', async () => {
    const other = await startServiceOn(service, { role: 'api' });
    const api = new Api(other.url ?? '');
    try {
      expect((await api.get('/health')).body.checks.workers).toMatchObject({ status: 'ok', count: 1 });
    } finally {
      await api.close();
      await other.close();
    }
  });
});

describe('what went wrong since the start', () => {
  const checksOf = async (api: Api) => {
    const { status, body } = await api.get('/health');
    // It is taken for ready: requests are kept, and a load balancer would only make it worse.
    expect([status, body.status]).toEqual([200, 'degraded']);
    return body.checks;
  };

  it('an eviction policy that may drop jobs shows, and so does its end', async () => {
    const redis = await startPrivateRedis({ persistent: false });
    const other = await startTestService({ environment: { REDIS_URL: redis.url } });
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const problem = 'Redis has maxmemory-policy allkeys-lru, so it may drop jobs. Set it to noeviction.';
    expect((await checksOf(other.api)).redis).toMatchObject({ status: 'degraded', problem });
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    expect((await other.api.get('/health')).body.checks.redis).toEqual(fine);
    client.disconnect();
    await other.close();
    await redis.stop();
  });

  it('a database that lost a migration shows, one that has more does not', async () => {
    const other = await startTestService();
    await sql`insert into kysely_migration (name, timestamp) values ('9999_later', '')`.execute(other.db);
    expect((await other.api.get('/health')).body.checks.migrations).toEqual(fine);
    await sql`delete from kysely_migration where name = '0001_records'`.execute(other.db);
    const { migrations, database } = await checksOf(other.api);
    expect(migrations).toMatchObject({ status: 'degraded', missing: ['0001_records'] });
    expect(database).toEqual(fine);
    await other.close();
  });
});
