import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { SemelClient } from '../../src/client/index.ts';
import { testApiKey } from '../support/api.ts';
import { openTestStores, startServiceOn } from '../support/service.ts';
import { startLossyServer } from './lossy-server.ts';

it('a 202 is waited for; a call whose time is up names its operation, and its key gives the result later', async () => {
  const stores = await openTestStores();
  const api = await startServiceOn(stores, { role: 'api' });
  const client = new SemelClient({ url: api.url ?? '', apiKey: testApiKey });
  const key = randomUUID();
  const open = (timeoutMs: number) => client.accounts.open({ owner: 'Ada', currency: 'EUR' }, { key, timeoutMs });
  // Long enough for one answer on a busy machine: without any, nothing is known of an operation.
  const given = await open(3_000).catch((error: unknown) => error);
  expect(given).toMatchObject({ code: 'TIMED_OUT', status: 202, effect: 'unknown', operationId: expect.any(String) });

  const waiting = open(30_000);
  const worker = await startServiceOn(stores, { role: 'worker' });
  const account = await waiting;
  expect(account).toMatchObject({ owner: 'Ada', balance: 0 });
  expect(given).toMatchObject({ operationId: account.id });
  await worker.close();
  await api.close();
  await stores.close();
});

it('a call whose service is lost after it was taken still names its operation', async () => {
  const stores = await openTestStores();
  const api = await startServiceOn(stores, { role: 'api' });
  const lossy = await startLossyServer(api.url ?? '', (count) => (count === 1 ? 'pass' : 'drop'));
  const client = new SemelClient({ url: lossy.url, apiKey: testApiKey });
  const opening = client.accounts.open({ owner: 'Ada', currency: 'EUR' }, { timeoutMs: 3_000 });
  await expect(opening).rejects.toMatchObject({ code: 'TIMED_OUT', status: 202, operationId: expect.any(String) });
  expect(lossy.lost).toBeGreaterThan(0);
  await lossy.close();
  await api.close();
  await stores.close();
});
