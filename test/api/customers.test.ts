import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import type { CallOptions } from '../support/api.ts';
import { newCustomer } from '../support/proposals.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';

let service: TestService;
const stranger: CallOptions = { apiKey: 'the-key-of-another-client' };

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  await ensureApiKey(service.db, 'the-key-of-another-client', { client: 'other', scopes: ['operate'] });
});

afterAll(() => service.close());

const create = (body: unknown, options?: CallOptions) => service.api.post('/v1/customers', body, options);
const newEmail = () => `${randomUUID()}@example.com`;

describe('a customer', () => {
  it('created twice with one key is one customer, and the second answer is a replay', async () => {
    const request = { name: 'João Silva', email: 'joao@example.com', document: '123.456.789-09' };
    const key = 'client-001';
    const [first, second] = [await create(request, { key }), await create(request, { key })];
    expect(first.status).toBe(201);
    expect(first.body).toEqual({ id: first.headers['operation-id'], ...request, createdAt: expect.any(String) });
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect([first, second].map(({ headers }) => headers['idempotent-replayed'])).toEqual(['false', 'true']);
    expect(second.headers['idempotency-mismatch']).toBeUndefined();
    expect((await service.api.get(`/v1/customers/${first.body.id}`)).text).toBe(first.text);
    const operation = await service.api.get(`/v1/operations/${first.body.id}`);
    const href = `/v1/customers/${first.body.id}`;
    expect(operation.body).toMatchObject({ status: 'SUCCEEDED', resource: { type: 'customer', href } });
  });

  it('stays as it was when its key comes with other data, and the answer says so', async () => {
    const key = randomUUID();
    const first = await create({ name: 'Ada', email: newEmail() }, { key });
    const before = await countStored(service.db);
    const other = await create({ name: 'Grace', email: newEmail() }, { key });
    expect([other.status, other.text]).toEqual([201, first.text]);
    expect(other.headers).toMatchObject({ 'idempotency-mismatch': 'true', 'idempotent-replayed': 'true' });
    expect(await countStored(service.db)).toEqual(before);
  });

  it('without a key is created once for each request', async () => {
    const [first, second] = [await newCustomer(service.api), await newCustomer(service.api)];
    expect(first).not.toBe(second);
  });

  it('without a document has none', async () => {
    expect((await create({ name: 'Ada', email: newEmail() })).body.document).toBeNull();
  });
});

describe('an email', () => {
  it('is taken in any case of its letters, and the refusal is kept under the key', async () => {
    const email = newEmail();
    expect((await create({ name: 'Ada', email })).status).toBe(201);
    const key = randomUUID();
    const refused = await create({ name: 'Grace', email: email.toUpperCase() }, { key });
    expectProblem(refused, 409, 'EMAIL_TAKEN');
    expect(refused.body).toMatchObject({ effect: 'not_applied', operationId: refused.headers['operation-id'] });
    const replay = await create({ name: 'Grace', email: email.toUpperCase() }, { key });
    expect([replay.status, replay.text]).toEqual([409, refused.text]);
    expect(replay.headers['idempotent-replayed']).toBe('true');
  });

  it('that 30 ask for at once is given to one of them', async () => {
    const email = newEmail();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        create({ name: 'Ada', email: index % 2 ? email : email.toUpperCase() }, { key: randomUUID() }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectProblem(answer, 409, 'EMAIL_TAKEN');
  });

  it('of another client is free, of another sub-client is not', async () => {
    const email = newEmail();
    expect((await create({ name: 'Ada', email })).status).toBe(201);
    expect((await create({ name: 'Ada', email }, stranger)).status).toBe(201);
    expectProblem(await create({ name: 'Ada', email }, { headers: { 'x-client-id': 'shop' } }), 409, 'EMAIL_TAKEN');
  });
});

describe('malformed', () => {
  const good = { name: 'Ada', email: 'ada@example.org' };
  it.each([
    ...[{}, [], null, 'x', { ...good, colour: 1 }, { name: 'Ada' }, { email: good.email }, { ...good, id: uuidv7() }],
    ...['', ' ', 'x'.repeat(256), 7, null, 'a\u0001'].map((name) => ({ ...good, name })),
    ...['', 'ada', '@example.org', 'ada@', 'a b@example.org', 'ada@example.org ', 'Ada <a@example.org>'].map(
      (email) => ({
        ...good,
        email,
      }),
    ),
    ...['a@b', `${'a'.repeat(250)}@example.org`, 'a@example.org\n', 'a@example.org,b@example.org', 7, null].map(
      (email) => ({ ...good, email }),
    ),
    ...['', '12', 'x'.repeat(21), '123.456.789-00', '11.222.333/0001-80', '11111111111', null, 12345678909].map(
      (document) => ({ ...good, document }),
    ),
  ])('%j is refused, nothing is stored, and the key stays free', async (body) => {
    const before = await countStored(service.db);
    const key = randomUUID();
    expectProblem(await create(body, { key }), 400, 'INVALID_REQUEST');
    expect(await countStored(service.db)).toEqual(before);
    expect((await create({ name: 'Ada', email: newEmail() }, { key })).status).toBe(201);
  });

  it.each(['x', '1', '%00', uuidv7().slice(1), `${uuidv7()}0`])('the id %s is not found', async (id) => {
    expectProblem(await service.api.get(`/v1/customers/${id}`), 404, 'NOT_FOUND');
  });

  it.each(['limit=0', 'limit=201', 'limit=x', 'limit=', 'cursor=x', 'cursor=MQ', 'colour=1'])(
    'the list with %s is refused',
    async (query) => expectProblem(await service.api.get(`/v1/customers?${query}`), 400, 'INVALID_REQUEST'),
  );
});

describe('a customer of another client', () => {
  it('is like one that does not exist, and is in no list', async () => {
    const id = await newCustomer(service.api);
    const [foreign, absent] = [
      await service.api.get(`/v1/customers/${id}`, stranger),
      await service.api.get(`/v1/customers/${uuidv7()}`, stranger),
    ];
    expectProblem(foreign, 404, 'NOT_FOUND');
    expect(foreign.text).toBe(absent.text);
    const ids = async (options?: CallOptions) =>
      (await service.api.get('/v1/customers?limit=200', options)).body.items.map((item: { id: string }) => item.id);
    expect(await ids()).toContain(id);
    expect(await ids(stranger)).not.toContain(id);
  });
});
