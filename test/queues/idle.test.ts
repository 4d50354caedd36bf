import type { KyselyPlugin } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { relayOutbox } from '../../src/queues/outbox-relay.ts';
import { pausesMs } from '../../src/queues/pauses.ts';
import { Queues } from '../../src/queues/queues.ts';
import { Reconciler } from '../../src/queues/reconciler.ts';
import { createWebhookPump } from '../../src/queues/webhooks/pump.ts';
import { hashTagOf, openRedis, type RedisClient } from '../../src/store/redis.ts';
import { eventually } from '../support/eventually.ts';
import { testMetrics } from '../support/metrics.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;
let redis: RedisClient;
let queries = 0;

/** Sees every query on its way to Postgres. */
const counting: KyselyPlugin = {
  transformQuery: ({ node }) => {
    queries += 1;
    return node;
  },
  transformResult: async ({ result }) => result,
};

beforeAll(async () => {
  stores = await openTestStores();
  redis = openRedis(readConfig(stores.environment), 'caller', () => undefined);
  await eventually(() => expect(redis.status).toBe('ready'));
});

afterAll(async () => {
  redis.disconnect();
  await stores.close();
});

it('an idle worker asks Postgres 57 times a minute: one small query for each round of relay, reconciler and webhooks', async () => {
  const prefix = hashTagOf(stores.environment.REDIS_PREFIX ?? '');
  const parts = {
    db: stores.db.withPlugin(counting),
    queues: new Queues(redis, prefix, () => undefined),
    redis,
    prefix,
    log: pino({ level: 'silent' }),
    isRedisReady: () => true,
    hitFailpoint: () => undefined,
    metrics: testMetrics(),
  };
  const reconciler = new Reconciler(parts);
  const count = async (round: () => Promise<unknown>) => {
    queries = 0;
    await round();
    return queries;
  };
  const perRelay = await count(() => relayOutbox(parts));
  const perReconcile = await count(() => reconciler.reconcile());
  const pump = createWebhookPump({ ...parts, config: readConfig(stores.environment) });
  const perPump = await count(() => pump.runOnce());
  const perMinute = (pauseMs: number, queries: number) => (60_000 / pauseMs) * queries;
  const { relay, reconcile, webhooks } = pausesMs;
  expect(perMinute(relay, perRelay) + perMinute(reconcile, perReconcile) + perMinute(webhooks, perPump)).toBe(57);
});
