import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { SemelClient } from '../../src/client/index.ts';
import { testApiKey } from '../support/api.ts';
import { openTestStores, startServiceOn } from '../support/service.ts';

it('a 202 is waited for; a call whose time is up names its operation, and its key gives the result later', async () => {
  const stores = await openTestStores();
  const api = await startServiceOn(stores, { role: 'api' });
  const client = new SemelClient({ url: api.url ?? '', apiKey: testApiKey });
  const key = randomUUID();
  const open = (timeoutMs: number) => client.accounts.open({ owner: 'Ada', currency: 'EUR' }, { key, timeoutMs });
  const given = await open(500).catch((error: unknown) => error);
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
