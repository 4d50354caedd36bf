import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api } from '../support/api.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const body = { owner: 'Ada', currency: 'EUR', openingBalance: 1 };

it('a key whose answer has expired is free again, and its old job does not swallow the new one', async () => {
  const key = randomUUID();
  const first = await service.api.post('/v1/accounts', body, { key });
  await sql`update records set expires_at = now() - interval '1 second' where key = ${key}`.execute(service.db);
  // A process that remembers nothing and a cache that holds nothing, as after the time that it takes to expire.
  const { environment } = service;
  const other = await startServiceOn(service, {
    role: 'api',
    environment: { ...environment, RESULT_CACHE_TTL_SECONDS: '1' },
  });
  await clearCache(environment);
  const api = new Api(other.url ?? '');
  const second = await api.post('/v1/accounts', body, { key });
  expect(second.status).toBe(201);
  expect(second.headers['idempotent-replayed']).toBe('false');
  expect(second.body.id).not.toBe(first.body.id);
  const records = await service.db.selectFrom('records').select('generation').where('key', '=', key).execute();
  expect(records).toEqual([{ generation: 2 }]);
  await api.close();
  await other.close();
});

it('a key answers for the configured time, in the answer header and in the record', async () => {
  const answer = await service.api.post('/v1/accounts', body, { key: randomUUID() });
  const expires = Date.parse(String(answer.headers['idempotency-expires']));
  const record = await service.db
    .selectFrom('records')
    .selectAll()
    .where('id', '=', answer.body.id)
    .executeTakeFirstOrThrow();
  expect(Math.floor(Number(record.expires_at) / 1000) * 1000).toBe(expires);
  expect(Number(record.expires_at) - Number(record.settled_at)).toBe(86_400_000);
});

async function clearCache(environment: Record<string, string>): Promise<void> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(environment.REDIS_URL ?? '');
  const keys = await redis.keys(`{${environment.REDIS_PREFIX}}:result:*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
}
