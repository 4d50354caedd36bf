import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import type { Answer, CallOptions } from '../support/api.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { expectProblem } from './expectations.ts';

let service: TestService;

const stranger: CallOptions = { apiKey: 'the-key-of-another-client' };
const shop: CallOptions = { headers: { 'x-client-id': 'shop' } };

beforeAll(async () => {
  service = await startTestService();
  await ensureApiKey(service.db, 'the-key-of-another-client', { client: 'other', scopes: ['operate'] });
});

afterAll(() => service.close());

/** All that a caller can see of an answer, but for what differs between any two answers. */
function visible(answer: Answer) {
  const { 'x-request-id': _id, date: _date, ...headers } = answer.headers;
  return { status: answer.status, headers, text: answer.text };
}

async function transferBetweenNewAccounts(amount = 10) {
  const [fromAccountId, toAccountId] = await Promise.all([service.api.openAccount(100), service.api.openAccount(0)]);
  const request = { fromAccountId, toAccountId, amount };
  const answer = await service.api.post('/v1/transfers', request, { key: randomUUID() });
  expect(answer.status).toBe(201);
  return { request, transferId: answer.body.id as string };
}

describe('what belongs to another client', () => {
  it('answers on every GET route exactly like something that does not exist', async () => {
    const { request, transferId } = await transferBetweenNewAccounts();
    const routes: [string, string][] = [
      ['/v1/accounts/{id}', request.fromAccountId],
      ['/v1/accounts/{id}/movements', request.fromAccountId],
      ['/v1/transfers/{id}', transferId],
      ['/v1/operations/{id}', transferId],
      ['/v1/operations/{id}/audit', transferId],
    ];
    for (const [route, id] of routes) {
      expect((await service.api.get(route.replace('{id}', id))).status, route).toBe(200);
      const foreign = await service.api.get(route.replace('{id}', id), stranger);
      const absent = await service.api.get(route.replace('{id}', uuidv7()), stranger);
      expectProblem(foreign, 404, 'NOT_FOUND');
      expect(visible(foreign), route).toEqual(visible(absent));
    }
  });

  it('is in none of its lists, whatever it filters by', async () => {
    const { transferId } = await transferBetweenNewAccounts();
    const { key } = (await service.api.get(`/v1/operations/${transferId}`)).body;
    for (const query of ['', `?key=${key}`, '?status=SUCCEEDED', '?operation=transfer.create']) {
      const answer = await service.api.get(`/v1/operations${query}`, { apiKey: 'the-key-of-another-client' });
      const ids = answer.body.items.map(({ id }: { id: string }) => id);
      expect(ids, query).not.toContain(transferId);
    }
  });

  it('in a transfer is an account that does not exist, and no money moves', async () => {
    const own = await service.api.openAccount(50, {}, { key: randomUUID(), ...stranger });
    const foreign = await service.api.openAccount(50);
    for (const build of [
      (id: string) => ({ fromAccountId: own, toAccountId: id, amount: 1 }),
      (id: string) => ({ fromAccountId: id, toAccountId: own, amount: 1 }),
    ]) {
      const absent = uuidv7();
      const seen = await service.api.post('/v1/transfers', build(foreign), { key: randomUUID(), ...stranger });
      const unseen = await service.api.post('/v1/transfers', build(absent), { key: randomUUID(), ...stranger });
      expectProblem(seen, 422, 'ACCOUNT_NOT_FOUND');
      const anonymous = (answer: Answer, id: string) => ({
        ...answer.body,
        operationId: '',
        detail: answer.body.detail.replace(id, ''),
      });
      expect(anonymous(seen, foreign)).toEqual(anonymous(unseen, absent));
    }
    expect(await service.api.balanceOf(foreign)).toBe(50);
    expect((await service.api.get(`/v1/accounts/${own}`, stranger)).body.balance).toBe(50);
  });

  it('the account that opening balances come from belongs to nobody', async () => {
    const own = await service.api.openAccount(50);
    const system = await service.db
      .selectFrom('accounts')
      .select('id')
      .where('kind', '=', 'system')
      .where('client', '=', 'default')
      .executeTakeFirstOrThrow();
    expectProblem(await service.api.get(`/v1/accounts/${system.id}`), 404, 'NOT_FOUND');
    const request = { fromAccountId: system.id, toAccountId: own, amount: 1 };
    expectProblem(await service.api.post('/v1/transfers', request, { key: randomUUID() }), 422, 'ACCOUNT_NOT_FOUND');
  });
});

describe('sub-clients', () => {
  it('share accounts and transfers, but not operations', async () => {
    const { request, transferId } = await transferBetweenNewAccounts();
    expect((await service.api.get(`/v1/accounts/${request.fromAccountId}`, shop)).status).toBe(200);
    expect((await service.api.get(`/v1/accounts/${request.fromAccountId}/movements`, shop)).status).toBe(200);
    expect((await service.api.get(`/v1/transfers/${transferId}`, shop)).status).toBe(200);

    for (const route of ['/v1/operations/{id}', '/v1/operations/{id}/audit']) {
      const hidden = await service.api.get(route.replace('{id}', transferId), shop);
      const absent = await service.api.get(route.replace('{id}', uuidv7()), shop);
      expect(visible(hidden), route).toEqual(visible(absent));
    }
    expect((await service.api.get(`/v1/operations?limit=200`, shop)).body.items).toEqual([]);
  });

  it('the client itself does not see the operations of its sub-clients', async () => {
    const headers = { 'x-client-id': 'branch' };
    const opened = await service.api.post(
      '/v1/accounts',
      { owner: 'Ada', currency: 'EUR' },
      { key: 'of-a-branch', headers },
    );
    const path = `/v1/operations/${opened.headers['operation-id']}`;
    expect((await service.api.get(path, { headers })).status).toBe(200);
    expectProblem(await service.api.get(path), 404, 'NOT_FOUND');
    expect((await service.api.get('/v1/operations?key=of-a-branch')).body.items).toEqual([]);
  });
});

describe('the same key', () => {
  it('from another client or sub-client is another transfer', async () => {
    const { request } = await transferBetweenNewAccounts(10);
    const other = {
      fromAccountId: await service.api.openAccount(100, {}, { key: randomUUID(), ...stranger }),
      toAccountId: await service.api.openAccount(0, {}, { key: randomUUID(), ...stranger }),
      amount: 10,
    };
    const key = randomUUID();
    const answers = [
      await service.api.post('/v1/transfers', request, { key }),
      await service.api.post('/v1/transfers', request, { key, headers: { 'x-client-id': 'a' } }),
      await service.api.post('/v1/transfers', request, { key, headers: { 'x-client-id': 'b' } }),
      await service.api.post('/v1/transfers', other, { key, ...stranger }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual(['false', 'false', 'false', 'false']);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(4);
    expect(await service.api.balanceOf(request.fromAccountId)).toBe(100 - 4 * 10);
  });

  it('for another operation is another operation', async () => {
    const key = randomUUID();
    const fromAccountId = await service.api.openAccount(5, {}, { key });
    const toAccountId = await service.api.openAccount(0);
    const answer = await service.api.post('/v1/transfers', { fromAccountId, toAccountId, amount: 5 }, { key });
    expect(answer.status).toBe(201);
    expect((await service.api.get(`/v1/operations?key=${key}`)).body.items).toHaveLength(2);
  });

  it('the parts of a scope cannot be shifted into each other', async () => {
    await ensureApiKey(service.db, 'the-key-of-a-shifty-client', { client: 'default@shop', scopes: ['operate'] });
    const open = (options: CallOptions) =>
      service.api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR' }, { key: 'k~x', ...options });
    const answers = [
      await open(shop),
      await open({ apiKey: 'the-key-of-a-shifty-client' }),
      await open({ key: 'x', headers: { 'x-client-id': 'shop' } }),
    ];
    expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual(['false', 'false', 'false']);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
  });
});
