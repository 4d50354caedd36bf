import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allSettled, judge } from '../support/judge.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;
let apis: ServiceProcess[];
let workers: ServiceProcess[];

beforeAll(async () => {
  stores = await openTestStores({ WAIT_SECONDS: '30' });
  const start = (role: 'api' | 'worker') => startProcess(role, stores.environment);
  apis = await Promise.all([start('api'), start('api')]);
  workers = await Promise.all([start('worker'), start('worker')]);
});

afterAll(async () => {
  await Promise.all([...apis, ...workers].map((service) => service.stop()));
  await stores.close();
});

const apiAt = (index: number) => {
  const service = apis[index % apis.length];
  if (!service) throw new Error('no api');
  return service.api;
};

it('100 identical requests at once over two APIs and two workers are one transfer and 100 equal answers', async () => {
  const [from, to] = [await apiAt(0).openAccount(1_000), await apiAt(1).openAccount(0)];
  const key = randomUUID();
  const body = { fromAccountId: from, toAccountId: to, amount: 70 };
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => apiAt(index).post('/v1/transfers', body, { key })),
  );

  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]));
  expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  expect(answers.filter((answer) => answer.headers['idempotent-replayed'] === 'false')).toHaveLength(1);
  expect(await apiAt(0).balanceOf(from)).toBe(930);
  const records = await stores.db.selectFrom('records').select('id').where('key', '=', key).execute();
  expect(records).toHaveLength(1);
  expect((await apiAt(0).get(`/v1/operations/${records[0]?.id}`)).body.replays).toBeLessThanOrEqual(99);
});

it('two APIs that see a key for the first time at the same moment still make one record of it', async () => {
  const [from, to] = [await apiAt(0).openAccount(1_000), await apiAt(1).openAccount(0)];
  const body = { fromAccountId: from, toAccountId: to, amount: 1 };
  // The moment in which both look and neither finds is short, so it is sought again and again.
  const rounds = 40;
  for (let round = 0; round < rounds; round += 1) {
    const key = randomUUID();
    const answers = await Promise.all([0, 1].map((index) => apiAt(index).post('/v1/transfers', body, { key })));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  }
  expect(await apiAt(0).balanceOf(to)).toBe(rounds);
});

it('many keys sent in opposite orders to two APIs at once neither deadlock nor run twice', async () => {
  const [from, to] = [await apiAt(0).openAccount(10_000), await apiAt(0).openAccount(0)];
  const keys = Array.from({ length: 150 }, () => randomUUID());
  const send = (key: string, index: number) =>
    apiAt(index).post('/v1/transfers', { fromAccountId: from, toAccountId: to, amount: 1 }, { key });
  const answers = await Promise.all([
    ...keys.map((key) => send(key, 0)),
    ...keys.toReversed().map((key) => send(key, 1)),
    ...keys.map((key) => send(key, 1)),
  ]);
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]));
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(keys.length);
  expect(await apiAt(1).balanceOf(to)).toBe(150);
  await allSettled(stores.db);
  await judge(stores.db);
});
