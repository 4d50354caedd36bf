import { randomUUID } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { operations } from '../../src/processors/registry.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { openTestStores, startServiceOn, type TestStores } from '../support/service.ts';
import { ownOperations } from './own-operations.ts';
import { type OwnWorker, startOwnWorker } from './own-worker.ts';

let stores: TestStores;
let service: Awaited<ReturnType<typeof startServiceOn>>;
let api: Api;
let provider: Server;
let url: string;
/** The keys of the calls that the other system got, and how it treats each. */
let calls: string[];
let treat: (answer: ServerResponse, times: number) => void;

beforeEach(async () => {
  calls = [];
  treat = (answer) => answer.end('done');
  provider = createServer(async (request, answer) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    calls.push(body);
    treat(answer, calls.length);
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  stores = await openTestStores({ LOCK_DURATION_MS: '1500', WAIT_SECONDS: '30', RETRY_DELAYS_MS: '1,1' });
  service = await startServiceOn(stores, { role: 'api', operations: [...operations, ...ownOperations] });
  api = new Api(service.url ?? '');
});

afterEach(async () => {
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
  await api.close();
  await service.close();
  await stores.close();
});

const charge = (policy: string, key: string) => api.post(`/v1/operations/test.charge.${policy}`, { url }, { key });

/** Sends a request whose worker dies while the other system has the call. Another worker is there to take over. */
async function killInTheMiddle(policy: string, key: string) {
  const doomed = await startOwnWorker(stores.environment);
  treat = (answer, times) => (times === 1 ? doomed.signal('SIGKILL') : void answer.end('done'));
  const answer = charge(policy, key);
  await doomed.exited;
  const sound = await startOwnWorker(stores.environment);
  return { answer: await answer, sound };
}

it('a worker killed in the middle of a call at most once leaves UNKNOWN and never a second call', async () => {
  const key = randomUUID();
  const { answer, sound } = await killInTheMiddle('at-most-once', key);
  expect(answer).toMatchObject({ status: 500, body: { code: 'OUTCOME_UNKNOWN', effect: 'unknown' } });
  expect((await charge('at-most-once', key)).body.code).toBe('OUTCOME_UNKNOWN');
  // The worker is sound: it makes the calls of others.
  expect((await charge('at-most-once', randomUUID())).status).toBe(201);
  const { operationId: id } = answer.body;
  expect(calls.filter((call) => call === id)).toHaveLength(1);
  expect((await api.get('/v1/admin/idempotency/health')).body).toMatchObject({ status: 'degraded', unknown: 1 });

  const resolution = { outcome: 'applied', note: 'they have it' };
  expect((await api.post(`/v1/admin/idempotency/records/${id}/resolve`, resolution)).status).toBe(200);
  expect((await charge('at-most-once', key)).body).toEqual({ operationId: id, outcome: 'applied' });
  expect(calls.filter((call) => call === id)).toHaveLength(1);
  await judge(stores.db);
  await sound.close();
});

it('killed after the claim and before the call, it is UNKNOWN as well: nobody can tell the difference', async () => {
  const key = randomUUID();
  const doomed = await startOwnWorker({ ...stores.environment, SEMEL_FAILPOINTS: 'run.claimed=kill' });
  const answer = charge('at-most-once', key);
  await doomed.exited;
  const sound = await startOwnWorker(stores.environment);
  expect((await answer).body.code).toBe('OUTCOME_UNKNOWN');
  expect(calls).toEqual([]);
  await judge(stores.db);
  await sound.close();
});

it('at least once, the call is made again with the same key', async () => {
  const { answer, sound } = await killInTheMiddle('at-least-once', randomUUID());
  expect(answer).toMatchObject({ status: 201, body: { said: 'done' } });
  expect(calls).toHaveLength(2);
  expect(new Set(calls).size).toBe(1);
  await judge(stores.db);
  await sound.close();
});

it('a worker paused in the middle of a call is taken for dead, and its answer counts when it is back', async () => {
  const paused: OwnWorker = await startOwnWorker(stores.environment);
  treat = (answer) => {
    paused.signal('SIGSTOP');
    answer.end('done');
  };
  const key = randomUUID();
  const first = charge('at-most-once', key);
  await paused.untilStopped();
  const sound = await startOwnWorker(stores.environment);
  expect((await first).body.code).toBe('OUTCOME_UNKNOWN');
  paused.signal('SIGCONT');
  await eventually(async () => {
    expect(await charge('at-most-once', key)).toMatchObject({ status: 201, body: { said: 'done' } });
  });
  expect(calls).toHaveLength(1);
  await allSettled(stores.db);
  await judge(stores.db);
  await Promise.all([paused.close(), sound.close()]);
});
