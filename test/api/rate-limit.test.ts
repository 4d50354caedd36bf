import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { createRateLimit } from '../../src/api/rate-limit.ts';
import { readConfig } from '../../src/config.ts';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { openRedis } from '../../src/store/redis.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startPrivateRedis } from '../support/private-servers.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Two API processes' worth of service on the same stores. */
async function startTwo(perMinute: number): Promise<{ service: TestService; apis: [Api, Api] }> {
  const service = await startTestService({ environment: { RATE_LIMIT_PER_MINUTE: String(perMinute) } });
  const second = await startServiceOn(service, { role: 'api' });
  const api = new Api(second.url ?? '');
  closing.push(service.close, second.close, () => api.close());
  return { service, apis: [service.api, api] };
}

async function sendMany(apis: [Api, Api], count: number, apiKey?: string): Promise<number[]> {
  const answers = Array.from({ length: count }, (_, index) =>
    (index % 2 === 0 ? apis[0] : apis[1]).get('/v1/operations?limit=1', { apiKey }),
  );
  return (await Promise.all(answers)).map(({ status }) => status);
}

const passed = (statuses: readonly number[]) => statuses.filter((status) => status === 200).length;

describe('the rate limit', () => {
  it('lets exactly as many requests of a client pass, over all API processes together', async () => {
    const { service, apis } = await startTwo(5);
    const statuses = await sendMany(apis, 20);
    expect(statuses.toSorted()).toEqual([...Array(5).fill(200), ...Array(15).fill(429)]);

    const before = await countStored(service.db);
    for (const api of apis) {
      const refused = await api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR' }, { key: randomUUID() });
      expectProblem(refused, 429, 'RATE_LIMITED');
      expect(String(refused.headers['retry-after'])).toMatch(/^([1-9]|[1-5]\d|60)$/);
    }
    expect(await countStored(service.db)).toEqual(before);
  });

  it('of one client does not touch another, nor those who only ask for health', async () => {
    const { service, apis } = await startTwo(5);
    const apiKey = 'the-key-of-another-client';
    await ensureApiKey(service.db, apiKey, { client: 'other', scopes: ['operate'] });
    expect(passed(await sendMany(apis, 10))).toBe(5);
    expect(passed(await sendMany(apis, 10, apiKey))).toBe(5);
    expect((await service.api.get('/health/live')).status).toBe(200);
  });

  it('counts all sub-clients and keys of a client together', async () => {
    const { service } = await startTwo(5);
    const apiKey = 'a-second-key-of-the-client';
    await ensureApiKey(service.db, apiKey, { client: 'default', scopes: ['operate'] });
    const answers = [];
    for (const id of ['a', 'b', 'c', 'd']) {
      answers.push(await service.api.get('/v1/operations', { headers: { 'x-client-id': id } }));
      answers.push(await service.api.get('/v1/operations', { apiKey }));
    }
    expect(passed(answers.map(({ status }) => status))).toBe(5);
  });

  it('is not used up faster by requests that come at the same time', async () => {
    // Large enough that points are taken in blocks.
    const { apis } = await startTwo(2_000);
    expect(passed(await sendMany(apis, 400))).toBe(400);
    expect(passed(await sendMany(apis, 400))).toBe(400);
    expect(passed(await sendMany(apis, 400))).toBe(400);
  });

  it('is counted by the process alone while Redis hangs, and holds nobody up', async () => {
    const server = await startPrivateRedis({ persistent: false });
    const redis = openRedis(
      readConfig({ DATABASE_URL: 'postgres://unused', REDIS_URL: server.url }),
      'caller',
      () => {},
    );
    closing.push(async () => redis.disconnect());
    await eventually(() => redis.ping());
    const limit = createRateLimit(redis, { prefix: 'test', perMinute: 2_000 });
    process.kill(server.pid(), 'SIGSTOP');
    // Were Redis asked for each block of four, this would take far longer than the test may.
    for (let count = 0; count < 2_000; count += 1) await limit('client');
    await expect(limit('client')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await limit('another client');
  });

  it('of 0 is none', async () => {
    const { apis } = await startTwo(0);
    expect(passed(await sendMany(apis, 100))).toBe(100);
  });
});
