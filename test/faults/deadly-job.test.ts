import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allSettled, judge } from '../support/judge.ts';
import { runUntilKilled, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;

beforeAll(async () => {
  stores = await openTestStores({ LOCK_DURATION_MS: '500', WAIT_SECONDS: '30' });
});

afterAll(() => stores.close());

it('a job that kills its worker every time is dead-lettered after five, and others are unharmed', async () => {
  const api = await startProcess('api', stores.environment);
  const body = { owner: 'Ada', currency: 'EUR' };
  const key = randomUUID();
  const taken = await api.api.post('/v1/accounts', body, { key, headers: { prefer: 'respond-async' } });
  for (let life = 1; life <= 5; life += 1) {
    await runUntilKilled('worker', { ...stores.environment, SEMEL_FAILPOINTS: 'run.before-commit=kill' });
  }
  const sound = await startProcess('worker', stores.environment);
  const answer = await api.api.post('/v1/accounts', body, { key: randomUUID() });
  expect(answer.status).toBe(201);
  await allSettled(stores.db);
  expect((await api.api.get(`/v1/operations/${taken.body.id}`)).body).toMatchObject({ status: 'FAILED' });
  const letters = await stores.db
    .selectFrom('dead_letters')
    .selectAll()
    .where('record_id', '=', taken.body.id)
    .execute();
  expect(letters).toMatchObject([{ error: { message: '5 workers died while they ran this' } }]);
  await judge(stores.db);
  await Promise.all([api.stop(), sound.stop()]);
});
