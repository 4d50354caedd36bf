import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { Queues, takeoverOptions } from '../../src/queues/queues.ts';
import { openRedis } from '../../src/store/redis.ts';
import { eventually } from '../support/eventually.ts';
import { testRedisPrefix, testRedisUrl } from '../support/stores.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

it('with the default lock, the job of a killed worker is taken over within ten seconds', () => {
  const config = readConfig({ DATABASE_URL: 'postgres://localhost/semel', REDIS_URL: 'redis://localhost' });
  const { lockDuration, stalledInterval } = takeoverOptions(config.LOCK_DURATION_MS);
  expect(lockDuration + stalledInterval).toBeLessThanOrEqual(10_000);
});

it('a queue that was first used while Redis was silent works once Redis answers again', async () => {
  const url = new URL(testRedisUrl());
  const proxy = await TcpProxy.open(Number(url.port));
  const config = readConfig({ DATABASE_URL: 'postgres://localhost/semel', REDIS_URL: proxy.through(url.href) });
  const redis = openRedis(config, 'caller', () => undefined);
  const queues = new Queues(redis, `{${testRedisPrefix()}}`, () => undefined);
  await eventually(() => expect(redis.status).toBe('ready'));
  proxy.blackHole();
  const add = () => queues.add('test', [{ name: 'test', jobId: 'job-1', data: {} }]);
  await expect(add()).rejects.toThrow('timed out');
  proxy.heal();
  await eventually(add);
  expect(await queues.get('test').getWaitingCount()).toBe(1);
  await queues.close();
  redis.disconnect();
  await proxy.close();
});
