import { randomUUID } from 'node:crypto';
import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IdempotentReceiver, RedisDedupStore } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { startPrivateRedis, testRedisPrefix, testRedisUrl } from '../support/stores.ts';
import { itConforms } from './conformance.ts';

describe('on one server', () => {
  itConforms(async () => {
    const [redis, prefix] = [new Redis(testRedisUrl()), `{${testRedisPrefix()}}`];
    return {
      create: (options) => new RedisDedupStore({ redis, prefix, ...options }),
      close: async () => redis.disconnect(),
    };
  });
});

describe('on a cluster', () => {
  /** One node that holds all slots: it refuses every script whose keys would be on different nodes of a larger cluster. */
  itConforms(async () => {
    const server = await startPrivateRedis({ persistent: false, cluster: true });
    const node = new Redis(server.url);
    await node.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => expect(await node.cluster('INFO')).toContain('cluster_state:ok'));
    node.disconnect();
    const { password } = new URL(server.url);
    const redis = new Cluster([{ host: '127.0.0.1', port: server.port }], { redisOptions: { password } });
    return {
      create: (options) => new RedisDedupStore({ redis, ...options }),
      close: async () => redis.disconnect(),
    };
  });
});

describe('keys', () => {
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(testRedisUrl());
  });

  afterAll(() => redis.disconnect());

  it('are readable, carry the hash tag and are kept for an hour', async () => {
    const [prefix, id] = [`{${testRedisPrefix()}}`, randomUUID()];
    const store = new RedisDedupStore({ redis, prefix });
    const idOf = (message: string) => message;
    await new IdempotentReceiver({ store, handler: () => 1, idOf, namespace: 'mail' }).receive(id);
    const remainingMs = await redis.pttl(`${prefix}:dedup:mail:${id}`);
    expect(remainingMs).toBeGreaterThan(59 * 60 * 1000);
    expect(remainingMs).toBeLessThanOrEqual(60 * 60 * 1000);
  });

  it('of a message in flight end with the lease', async () => {
    const [prefix, id] = [`{${testRedisPrefix()}}`, randomUUID()];
    await new RedisDedupStore({ redis, prefix }).take({ namespace: 'mail', id }, randomUUID());
    expect(await redis.pttl(`${prefix}:dedup:mail:${id}`)).toBeLessThanOrEqual(30_000);
  });
});
