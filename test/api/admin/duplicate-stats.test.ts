import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestCounter } from '../../../src/queues/request-counter.ts';
import { sumRequestCounts } from '../../../src/store/request-counts.ts';
import type { Api } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { uploadCsv } from '../../support/mailings.ts';
import { type ServiceProcess, startProcess } from '../../support/processes.ts';
import { openTestStores, type TestStores } from '../../support/service.ts';

let stores: TestStores;

beforeAll(async () => {
  stores = await openTestStores({ WAIT_SECONDS: '30' });
});

afterAll(() => stores.close());

const statsOf = async (api: Api) => (await api.get('/v1/admin/idempotency/stats/duplicates?hours=2')).body;

describe('known traffic over two API processes', () => {
  it('gives exactly those numbers, also after one of them was restarted', async () => {
    const [first, second, worker] = await Promise.all([
      startProcess('api', stores.environment),
      startProcess('api', stores.environment),
      startProcess('worker', stores.environment),
    ]);
    const account = { owner: 'Ada', currency: 'EUR' };
    const open = (api: Api, key: string, body: object = account) => api.post('/v1/accounts', body, { key });
    const keys = Array.from({ length: 20 }, () => randomUUID());

    // New ones, some of them in flight twice at once, on both processes.
    await Promise.all(
      keys.flatMap((key, index) => [open(first.api, key), ...(index < 5 ? [open(second.api, key)] : [])]),
    );
    // Answered from memory (letter by letter, and not), from Redis by the other one, and refused as another request.
    for (const key of keys.slice(0, 10)) await open(first.api, key);
    for (const key of keys.slice(0, 4)) await open(first.api, key, { currency: 'EUR', owner: 'Ada' });
    for (const key of keys.slice(10, 17)) await open(second.api, key);
    for (const key of keys.slice(0, 3))
      expect((await open(second.api, key, { ...account, owner: 'X' })).status).toBe(422);
    // What is not taken counts nowhere.
    expect((await open(first.api, keys[0] ?? '', { nonsense: 1 })).status).toBe(400);
    // The same for an operation without keys, and for uploads.
    for (let i = 0; i < 3; i += 1) {
      await first.api.post('/v1/customers', { name: 'Ada', email: `ada-${i}-${randomUUID()}@example.com` });
    }
    const csv = 'email\nada@example.com\n';
    for (const api of [first.api, second.api]) await uploadCsv(api, csv, { filename: 'people.csv' });
    expect((await uploadCsv(first.api, `${csv}x@example.com\n`, { filename: 'people.csv' })).status).toBe(409);

    const expected = {
      hours: 2,
      totalRequests: 20 + 5 + 10 + 4 + 7 + 3 + 3 + 3,
      duplicateRequests: 5 + 10 + 4 + 7 + 1,
      byOperation: [
        { operation: 'account.open', requests: 49, duplicates: 26, mismatches: 3 },
        { operation: 'customer.create', requests: 3, duplicates: 0, mismatches: 0 },
        { operation: 'mailing.upload', requests: 3, duplicates: 1, mismatches: 1 },
      ],
    };
    await eventually(async () => expect(await statsOf(second.api)).toMatchObject(expected));
    expect((await statsOf(first.api)).duplicateRate).toBeCloseTo(27 / 55);
    for (const query of ['hours=0', 'hours=2161', 'hours=x', 'days=1']) {
      const refused = await first.api.get(`/v1/admin/idempotency/stats/duplicates?${query}`);
      expect(refused.body.code).toBe('INVALID_REQUEST');
    }

    // What was counted just before the end is written at the end, and the new process begins anew.
    for (const key of keys.slice(0, 6)) await open(first.api, key);
    expect(await first.stop()).toBe(0);
    const again: ServiceProcess = await startProcess('api', stores.environment);
    for (const key of keys.slice(0, 2)) await open(again.api, key);
    const { byOperation } = await statsOf(again.api);
    expect(byOperation[0]).toEqual({ operation: 'account.open', requests: 57, duplicates: 34, mismatches: 3 });
    const health = (await again.api.get('/v1/admin/idempotency/health')).body;
    expect(health.cacheHitRate).toBeGreaterThan(0.5);
    expect(health.cacheHitRate).toBeLessThanOrEqual(1);
    await Promise.all([second.stop(), again.stop(), worker.stop()]);
  });
});

describe('a counter', () => {
  it('whose write is made twice counts nothing twice, and keeps what it could not write', async () => {
    const log = pino({ level: 'silent' });
    const counter = new RequestCounter({ db: stores.db, instanceId: randomUUID(), log });
    const operation = `test.${randomUUID()}`;
    const sum = async () => (await sumRequestCounts(stores.db, 1)).find((row) => row.operation === operation);
    counter.count(operation, 'new');
    await counter.flush();
    counter.count(operation, 'duplicate', 'hit');
    await Promise.all([counter.flush(), counter.flush()]);
    await counter.flush();
    expect(await sum()).toMatchObject({ requests: 2, duplicates: 1, mismatches: 0, cache_hits: 1 });

    const away = { db: brokenOnce(), instanceId: randomUUID(), log };
    const unlucky = new RequestCounter(away);
    unlucky.count(operation, 'mismatch');
    await unlucky.flush();
    expect(await sum()).toMatchObject({ requests: 2 });
    unlucky.count(operation, 'duplicate', 'miss');
    await unlucky.close();
    expect(await sum()).toMatchObject({ requests: 4, duplicates: 2, mismatches: 1, cache_misses: 1 });
    await counter.close();
  });

  /** The database, which fails the first time it is asked. */
  function brokenOnce() {
    let isBroken = true;
    return stores.db.withPlugin({
      transformQuery: ({ node }) => {
        if (!isBroken) return node;
        isBroken = false;
        throw new Error('away');
      },
      transformResult: async ({ result }) => result,
    });
  }
});
