import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operations } from '../../src/processors/registry.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { openTestStores, startServiceOn, type TestStores } from '../support/service.ts';
import { ownOperations } from './own-operations.ts';
import { startOwnWorker } from './own-worker.ts';

let stores: TestStores;
let service: Awaited<ReturnType<typeof startServiceOn>>;
let api: Api;

beforeEach(async () => {
  stores = await openTestStores({ LOCK_DURATION_MS: '1500', WAIT_SECONDS: '30' });
  service = await startServiceOn(stores, { role: 'api', operations: [...operations, ...ownOperations] });
  api = new Api(service.url ?? '');
});

afterEach(async () => {
  await api.close();
  await service.close();
  await stores.close();
});

const startWorker = (failpoints = '') => startOwnWorker({ ...stores.environment, SEMEL_FAILPOINTS: failpoints });
const recordOf = async (id: string) => (await api.get(`/v1/admin/idempotency/records/${id}`)).body;

describe('reset of a stuck record runs it again without a second effect even if the old worker wakes up', () => {
  it.each([
    ['whose claim is committed', '/v1/operations/test.open-slowly', {}, 'run.claimed=stop@1'],
    [
      'whose claim is committed, with the effect written',
      '/v1/operations/test.open-slowly',
      {},
      'run.before-commit=stop@1',
    ],
    [
      'inside the transaction of its effect',
      '/v1/accounts',
      { owner: 'Ada', currency: 'EUR' },
      'run.before-commit=stop@1',
    ],
  ])('%s', async (_, path, body, failpoint) => {
    const stuck = await startWorker(failpoint);
    const taken = await api.post(path, body, { key: randomUUID(), headers: { prefer: 'respond-async' } });
    const { id } = taken.body;
    await stuck.untilStopped();
    const { items } = (await api.get('/v1/admin/idempotency/records/stuck?minutes=0')).body;
    expect(items).toMatchObject([{ id, client: 'default' }]);

    // While the worker is inside a transaction that holds the record, an operator is told so, until Postgres ends it.
    await eventually(async () => {
      const answer = await api.post(`/v1/admin/idempotency/records/${id}/reset`, { note: 'it hangs' });
      if (answer.status !== 202) expect(answer.body).toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
      expect(answer.status).toBe(202);
    });
    expect(await recordOf(id)).toMatchObject({ status: 'QUEUED', generation: 2 });

    const sound = await startWorker();
    await allSettled(stores.db);
    expect(await recordOf(id)).toMatchObject({ status: 'SUCCEEDED', generation: 2 });
    stuck.signal('SIGCONT');
    await sound.close();
    // Only the woken one is left: it has given up what it held, and is sound.
    expect((await api.post('/v1/accounts', { owner: 'Grace', currency: 'EUR' }, { key: randomUUID() })).status).toBe(
      201,
    );
    const accounts = await stores.db.selectFrom('accounts').select('id').where('id', '=', id).execute();
    expect(accounts).toHaveLength(1);
    const { audit } = await recordOf(id);
    expect(audit.filter((row: { to: string }) => row.to === 'SUCCEEDED')).toHaveLength(1);
    expect(audit.find((row: { actor: string }) => row.actor.startsWith('admin:default:'))).toMatchObject({
      to: 'QUEUED',
      detail: { generation: 2, note: 'it hangs' },
    });
    await judge(stores.db);
    await stuck.close();
  });
});
