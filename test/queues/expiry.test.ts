import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deleteExpired } from '../../src/queues/housekeeping/delete-expired.ts';
import { submitRecords } from '../../src/store/records.ts';
import { Api } from '../support/api.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';
import { openFixture } from './housekeeping/fixture.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const body = { owner: 'Ada', currency: 'EUR', openingBalance: 1 };

/** A process that remembers nothing and a cache that holds nothing, as after the time that it takes to expire. */
async function sendAgain(key: string) {
  const { environment } = service;
  const other = await startServiceOn(service, {
    role: 'api',
    environment: { ...environment, RESULT_CACHE_TTL_SECONDS: '1' },
  });
  await clearCache(environment);
  const api = new Api(other.url ?? '');
  // Sooner than the reconciler would bring a job that was swallowed.
  const answer = await api.post('/v1/accounts', body, { key, headers: { prefer: 'wait=4' } });
  await api.close();
  await other.close();
  return answer;
}

async function expire(key: string): Promise<void> {
  await sql`update records set expires_at = now() - interval '1 second' where key = ${key}`.execute(service.db);
}

it('a key whose answer has expired is free again, and its old job does not swallow the new one', async () => {
  const key = randomUUID();
  const first = await service.api.post('/v1/accounts', body, { key });
  await expire(key);
  const second = await sendAgain(key);
  expect(second.status).toBe(201);
  expect(second.headers['idempotent-replayed']).toBe('false');
  expect(second.body.id).not.toBe(first.body.id);
});

it('a key whose record was deleted is free again, and its old job does not swallow the new one', async () => {
  const key = randomUUID();
  const first = await service.api.post('/v1/accounts', body, { key });
  await expire(key);
  const fixture = await openFixture(service);
  await deleteExpired({ ...fixture, hitFailpoint: () => undefined }, new AbortController().signal);
  expect(await service.db.selectFrom('records').select('id').where('key', '=', key).execute()).toEqual([]);
  const second = await sendAgain(key);
  expect(second.status).toBe(201);
  expect(second.body.id).not.toBe(first.body.id);
  await fixture.close();
});

it('the record that takes the place of an expired one is the next generation', async () => {
  const key = randomUUID();
  await service.api.post('/v1/accounts', body, { key });
  // In one transaction, so that housekeeping is not faster.
  const submitted = await service.db.transaction().execute(async (tx) => {
    await sql`update records set expires_at = now() where key = ${key}`.execute(tx);
    const scope = { id: randomUUID(), client: 'default', sub_client: '', operation: 'account.open', key };
    const job = { outbox_id: randomUUID(), queue: 'operations', job_id: randomUUID(), reply_to: null };
    const row = { ...scope, ...job, fingerprint: 'f', request: body, actor: 'test', relay_after_ms: 3_600_000 };
    return await submitRecords(tx, [row]);
  });
  expect(submitted).toMatchObject([{ created: true, generation: 2 }]);
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
