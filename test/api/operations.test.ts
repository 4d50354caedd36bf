import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const account = { owner: 'Ada', currency: 'EUR' };

/** A sub-client of the test's own, whose lists hold what the test made and nothing else. */
const newScope = () => ({ 'x-client-id': randomUUID() });

async function openMany(count: number, headers: Record<string, string>): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, () => service.api.post('/v1/accounts', account, { key: randomUUID(), headers })),
  );
  return answers.map(({ body }) => body.id);
}

/** Follows nextCursor to the end, doing something between the pages. */
async function readPages(path: string, headers: Record<string, string>, between: () => Promise<unknown>) {
  const pages: { id: string }[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await service.api.get(`${path}${cursor && `&cursor=${cursor}`}`, { headers });
    expect(answer.status, answer.text).toBe(200);
    pages.push(answer.body.items);
    cursor = answer.body.nextCursor;
    await between();
  }
  return pages;
}

async function makeTransfer() {
  const [fromAccountId, toAccountId] = await Promise.all([service.api.openAccount(100), service.api.openAccount(0)]);
  const request = { fromAccountId, toAccountId, amount: 7, description: 'rent' };
  const key = randomUUID();
  const answer = await service.api.post('/v1/transfers', request, { key });
  expect(answer.status).toBe(201);
  return { request, key, answer };
}

describe('one operation', () => {
  it('is shown with everything that is known of it', async () => {
    const { key, answer } = await makeTransfer();
    const { body } = await service.api.get(`/v1/operations/${answer.headers['operation-id']}`);
    expect(body).toEqual({
      id: answer.headers['operation-id'],
      operation: 'transfer.create',
      key,
      status: 'SUCCEEDED',
      attempts: 1,
      replays: 0,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.stringMatching(/Z$/),
      expiresAt: expect.stringMatching(/Z$/),
      result: answer.body,
      effect: 'applied',
      resource: { type: 'transfer', id: answer.body.id, href: `/v1/transfers/${answer.body.id}` },
    });
    expect((await service.api.get(body.resource.href)).body).toEqual(answer.body);
  });

  it('that was refused says why', async () => {
    const { request } = await makeTransfer();
    const refused = await service.api.post('/v1/transfers', { ...request, amount: 1_000 }, { key: randomUUID() });
    const { body } = await service.api.get(`/v1/operations/${refused.headers['operation-id']}`);
    expect(body).toMatchObject({ status: 'REJECTED', effect: 'not_applied', attempts: 1 });
    expect(body.error).toEqual({ code: 'INSUFFICIENT_FUNDS', message: refused.body.detail });
    expect(body).not.toHaveProperty('result');
    expect(body).not.toHaveProperty('resource');
  });

  it('counts its replays, and not those who came with another request', async () => {
    const { request, key, answer } = await makeTransfer();
    for (let count = 0; count < 3; count += 1) await service.api.post('/v1/transfers', request, { key });
    await service.api.post('/v1/transfers', { ...request, amount: 8 }, { key });
    await eventually(async () => {
      expect((await service.api.get(`/v1/operations/${answer.body.id}`)).body.replays).toBe(3);
    });
  });

  it('has an audit trail in order, from its first to its last state', async () => {
    const { answer } = await makeTransfer();
    const { body } = await service.api.get(`/v1/operations/${answer.body.id}/audit`);
    const [at, hash, worker] = [/Z$/, /^[0-9a-f]{64}$/, /^worker:/].map((form) => expect.stringMatching(form));
    const links = body.items.map((item: { hash: string; prevHash: string | null }) => [item.prevHash, item.hash]);
    const [[, first], [, second]] = links;
    expect(links).toEqual([
      [null, hash],
      [first, hash],
      [second, hash],
    ]);
    const rest = { at, detail: null, hash, prevHash: expect.anything() };
    expect(body).toEqual({
      items: [
        { ...rest, from: null, to: 'QUEUED', actor: 'client:default', epoch: 0, prevHash: null },
        { ...rest, from: 'QUEUED', to: 'PROCESSING', actor: worker, epoch: 1 },
        { ...rest, from: 'PROCESSING', to: 'SUCCEEDED', actor: worker, epoch: 1 },
      ],
    });
    const times = body.items.map((item: { at: string }) => item.at);
    expect(times).toEqual([...times].sort());
  });
});

describe('the list of operations', () => {
  it('is filtered by status, operation and key', async () => {
    const headers = newScope();
    const { request } = await makeTransfer();
    const send = (amount: number, key: string) =>
      service.api.post('/v1/transfers', { ...request, amount }, { key, headers });
    const [done, refused, opened] = [
      (await send(1, 'key-of-one-0001')).headers['operation-id'],
      (await send(1_000, 'key-of-two-0002')).headers['operation-id'],
      (await openMany(1, headers))[0],
    ];
    const list = async (query: string) => {
      const { body } = await service.api.get(`/v1/operations?${query}`, { headers });
      expect(body.nextCursor).toBeNull();
      return body.items.map(({ id }: { id: string }) => id);
    };
    expect(await list('')).toEqual([opened, refused, done]);
    expect(await list('status=REJECTED')).toEqual([refused]);
    expect(await list('status=SUCCEEDED')).toEqual([opened, done]);
    expect(await list('status=FAILED')).toEqual([]);
    expect(await list('operation=transfer.create')).toEqual([refused, done]);
    expect(await list('operation=transfer.create&status=SUCCEEDED')).toEqual([done]);
    expect(await list('key=key-of-one-0001')).toEqual([done]);
    expect(await list('key=no-such-key')).toEqual([]);
  });

  it('shows each operation as it is shown alone', async () => {
    const headers = newScope();
    const [id] = await openMany(1, headers);
    const { items } = (await service.api.get('/v1/operations', { headers })).body;
    expect(items).toEqual([(await service.api.get(`/v1/operations/${id}`, { headers })).body]);
  });

  it('shows every old item exactly once while new ones come in', async () => {
    const headers = newScope();
    const old = await openMany(23, headers);
    const pages = await readPages('/v1/operations?limit=5', headers, () => openMany(3, headers));
    expect(pages.map((page) => page.length)).toEqual([5, 5, 5, 5, 3]);
    const seen = pages.flat().map(({ id }) => id);
    expect([...seen].sort()).toEqual([...old].sort());
    expect(seen).toEqual([...seen].sort().reverse());
  });

  it('has no next page if the last one is just full, and up to 200 items on one', async () => {
    const headers = newScope();
    await openMany(4, headers);
    const pages = await readPages('/v1/operations?limit=2', headers, async () => undefined);
    expect(pages.map((page) => page.length)).toEqual([2, 2]);
    expect((await service.api.get('/v1/operations?limit=200', { headers })).body.items).toHaveLength(4);
    expect((await service.api.get('/v1/operations', { headers: newScope() })).body).toEqual({
      items: [],
      nextCursor: null,
    });
  });
});

describe('the movements of an account', () => {
  it('are listed newest first, each exactly once, also while money moves', async () => {
    const [fromAccountId, toAccountId] = [await service.api.openAccount(100), await service.api.openAccount(0)];
    const transfer = (amount: number) =>
      service.api.post('/v1/transfers', { fromAccountId, toAccountId, amount }, { key: randomUUID() });
    for (const amount of [1, 2, 3, 4, 5]) await transfer(amount);
    const path = `/v1/accounts/${fromAccountId}/movements`;
    const pages = await readPages(`${path}?limit=4`, {}, () => transfer(9));
    const movements = pages.flat();
    expect(pages.map((page) => page.length)).toEqual([4, 2]);
    expect(new Set(movements.map(({ id }) => id)).size).toBe(6);
    expect(movements).toMatchObject([
      { kind: 'transfer', amount: -5, balanceAfter: 85 },
      { kind: 'transfer', amount: -4, balanceAfter: 90 },
      { kind: 'transfer', amount: -3, balanceAfter: 94 },
      { kind: 'transfer', amount: -2, balanceAfter: 97 },
      { kind: 'transfer', amount: -1, balanceAfter: 99 },
      { kind: 'opening', amount: 100, balanceAfter: 100, operationId: fromAccountId, transferId: null },
    ]);
  });
});

describe('an account', () => {
  it('is shown as it was opened, and its version grows with each movement', async () => {
    const { body: opened } = await service.api.post(
      '/v1/accounts',
      { owner: 'Zoë 😀', currency: 'JPY', openingBalance: 10, overdraftLimit: 5 },
      { key: randomUUID() },
    );
    expect(opened).toEqual({
      id: expect.any(String),
      owner: 'Zoë 😀',
      currency: 'JPY',
      balance: 10,
      overdraftLimit: 5,
      version: 1,
      createdAt: expect.stringMatching(/Z$/),
    });
    expect((await service.api.get(`/v1/accounts/${opened.id}`)).body).toEqual(opened);
    const toAccountId = await service.api.openAccount(0, { currency: 'JPY' });
    const request = { fromAccountId: opened.id, toAccountId, amount: 4 };
    await service.api.post('/v1/transfers', request, { key: randomUUID() });
    expect((await service.api.get(`/v1/accounts/${opened.id}`)).body).toEqual({ ...opened, balance: 6, version: 2 });
  });
});
