import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';
import { type PrivateServer, startPrivateRedis } from '../support/stores.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

let redis: PrivateServer;
let stores: TestStores;

beforeAll(async () => {
  redis = await startPrivateRedis({ persistent: false });
  stores = await openTestStores({ REDIS_URL: redis.url, LOCK_DURATION_MS: '1500', WAIT_SECONDS: '20' });
});

afterAll(async () => {
  await redis.stop();
  await stores.close();
});

it('with a Redis that falls silent and then breaks off, SIGTERM still ends the process in order', async () => {
  const proxy = await TcpProxy.open(redis.port);
  const service = await startProcess('all', { ...stores.environment, REDIS_URL: proxy.through(redis.url) });
  proxy.blackHole();
  const ended = service.stop();
  // It takes no more requests, and now its workers wait for a Redis that says nothing.
  await eventually(() => expect(service.api.get('/health/live')).rejects.toThrow());
  proxy.refuse();
  expect(await ended).toBe(0);
  await proxy.close();
});

it('with Redis away, SIGTERM still ends every process in order', async () => {
  const services = await Promise.all([
    startProcess('api', stores.environment),
    startProcess('worker', stores.environment),
  ]);
  await redis.kill();
  expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
});
