import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { judge } from '../support/judge.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { startPrivateRedis } from '../support/stores.ts';

let service: TestService;

/** One node that holds all slots: it refuses every command whose keys would be on different nodes of a larger cluster. */
beforeAll(async () => {
  const redis = await startPrivateRedis({ persistent: false, cluster: true });
  const node = new Redis(redis.url);
  await node.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await eventually(async () => expect(await node.cluster('INFO')).toContain('cluster_state:ok'));
  node.disconnect();
  service = await startTestService({
    environment: {
      REDIS_URL: '',
      REDIS_CLUSTER: `127.0.0.1:${redis.port}`,
      REDIS_PASSWORD: new URL(redis.url).password,
    },
  });
});

afterAll(() => service.close());

it('everything works on a Redis cluster: queue, locks, cache, answers to those who wait', async () => {
  const accounts = { fromAccountId: await service.api.openAccount(100), toAccountId: await service.api.openAccount(0) };
  const keys = Array.from({ length: 50 }, () => randomUUID());
  const send = (key: string) => service.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key });
  const answers = await Promise.all([...keys, ...keys].map(send));
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
  expect(await service.api.balanceOf(accounts.toAccountId)).toBe(50);
  expect((await service.api.get('/health')).body.status).toBe('ok');
  await judge(service.db);
});
