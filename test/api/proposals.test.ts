import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import type { CallOptions } from '../support/api.ts';
import { move, newCustomer, newProposal } from '../support/proposals.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';

let service: TestService;
const stranger: CallOptions = { apiKey: 'the-key-of-another-client' };

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  await ensureApiKey(service.db, 'the-key-of-another-client', { client: 'other', scopes: ['operate'] });
});

afterAll(() => service.close());

const create = (body: unknown, options?: CallOptions) => service.api.post('/v1/proposals', body, options);
const find = async (id: string) => (await service.api.get(`/v1/proposals/${id}`)).body;

async function eventsOf(id: string): Promise<string[]> {
  const rows = await service.db.selectFrom('events').select(['type', 'data']).orderBy('created_at').execute();
  return rows.filter(({ data }) => (data as { id: string }).id === id).map(({ type }) => type);
}

describe('create', () => {
  it('twice with one key makes one draft', async () => {
    const request = { customerId: await newCustomer(service.api), amount: 150_000 };
    const key = 'proposal-001';
    const [first, second] = [await create(request, { key }), await create(request, { key })];
    expect(first.status).toBe(201);
    const { createdAt } = first.body;
    const id = first.headers['operation-id'];
    const draft = { id, ...request, status: 'DRAFT', version: 1, createdAt, updatedAt: createdAt };
    expect(first.body).toEqual(draft);
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(second.headers['idempotency-mismatch']).toBeUndefined();
    expect(await find(first.body.id)).toEqual(draft);
    const list = await service.api.get(`/v1/proposals?customerId=${request.customerId}`);
    expect(list.body).toEqual({ items: [draft], nextCursor: null });
  });

  it('with another amount under the same key keeps the first amount and says so', async () => {
    const customerId = await newCustomer(service.api);
    const key = randomUUID();
    const first = await create({ customerId, amount: 150_000 }, { key });
    const other = await create({ customerId, amount: 200_000 }, { key });
    expect([other.status, other.text]).toEqual([201, first.text]);
    expect(other.body.amount).toBe(150_000);
    expect(other.headers).toMatchObject({ 'idempotency-mismatch': 'true', 'idempotent-replayed': 'true' });
    // Having said so once does not make the other request the original.
    expect((await create({ customerId, amount: 200_000 }, { key })).headers['idempotency-mismatch']).toBe('true');
    expect((await create({ customerId, amount: 150_000 }, { key })).headers['idempotency-mismatch']).toBeUndefined();
  });

  it('again after a submit shows the proposal as submitted', async () => {
    const request = { customerId: await newCustomer(service.api), amount: 7 };
    const key = randomUUID();
    const { id } = (await create(request, { key })).body;
    await move(service.api, id, 'submit', 1);
    const again = await create(request, { key });
    expect(again).toMatchObject({ status: 201, body: { id, status: 'SUBMITTED', version: 2 } });
    const other = await create({ ...request, amount: 8 }, { key });
    expect(other.body).toEqual(again.body);
    expect(other.headers['idempotency-mismatch']).toBe('true');
  });

  it('for a customer that is not there, or not of this client, is refused alike and stays refused', async () => {
    const foreign = await newCustomer(service.api, stranger);
    for (const customerId of [uuidv7(), foreign]) {
      const key = randomUUID();
      const refused = await create({ customerId, amount: 1 }, { key });
      expectProblem(refused, 422, 'CUSTOMER_NOT_FOUND');
      expect(refused.body).toMatchObject({ detail: `There is no customer ${customerId}.`, effect: 'not_applied' });
      expect((await create({ customerId, amount: 1 }, { key })).text).toBe(refused.text);
    }
  });
});

describe('submit', () => {
  it('twice with one key submits once, and the second answer is the current state', async () => {
    const id = await newProposal(service.api);
    const key = 'submit-001';
    const [first, second] = [
      await move(service.api, id, 'submit', 1, { key }),
      await move(service.api, id, 'submit', 1, { key }),
    ];
    expect(first).toMatchObject({ status: 200, body: { id, status: 'SUBMITTED', version: 2 } });
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect([first, second].map(({ headers }) => headers['idempotent-replayed'])).toEqual(['false', 'true']);
    expect(await eventsOf(id)).toEqual(['proposal.submitted']);
  });

  it('again with its key after an accept in between shows it accepted', async () => {
    const id = await newProposal(service.api);
    const key = randomUUID();
    await move(service.api, id, 'submit', 1, { key });
    const accepted = await move(service.api, id, 'accept', 2);
    const again = await move(service.api, id, 'submit', 1, { key });
    expect(again).toMatchObject({ status: 200, body: { id, status: 'ACCEPTED', version: 3 } });
    expect(again.body).toEqual(accepted.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await eventsOf(id)).toEqual(['proposal.submitted', 'proposal.accepted']);
  });

  it('of another proposal under a used key submits nothing and shows the first', async () => {
    const [id, other] = [await newProposal(service.api), await newProposal(service.api)];
    const key = randomUUID();
    const first = await move(service.api, id, 'submit', 1, { key });
    const second = await move(service.api, other, 'submit', 1, { key });
    expect([second.text, second.headers['idempotency-mismatch']]).toEqual([first.text, 'true']);
    expect((await find(other)).status).toBe('DRAFT');
  });

  it('may have the key of the create', async () => {
    const key = randomUUID();
    const created = await create({ customerId: await newCustomer(service.api), amount: 1 }, { key });
    const { id } = created.body;
    const submitted = await move(service.api, id, 'submit', 1, { key });
    const accepted = await move(service.api, id, 'accept', 2, { key });
    for (const answer of [submitted, accepted]) expect(answer.headers['idempotent-replayed']).toBe('false');
    expect(accepted.body).toMatchObject({ id, status: 'ACCEPTED', version: 3 });
  });

  it('50 at once with one key is one transition and 50 equal answers', async () => {
    const id = await newProposal(service.api);
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => move(service.api, id, 'submit', 1, { key })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 200, body: { status: 'SUBMITTED', version: 2 } });
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'false')).toHaveLength(1);
    expect(await find(id)).toMatchObject({ status: 'SUBMITTED', version: 2 });
    expect(await eventsOf(id)).toEqual(['proposal.submitted']);
  });

  it('50 at once with 50 keys and one version is one success, and the version grows by one', async () => {
    const id = await newProposal(service.api);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => move(service.api, id, 'submit', 1, { key: randomUUID() })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(['VERSION_CONFLICT', 'INVALID_STATE']).toContain(answer.body.code);
      expectProblem(answer, 409, answer.body.code);
      expect(answer.body).toMatchObject({ currentVersion: 2, effect: 'not_applied' });
    }
    expect(await find(id)).toMatchObject({ status: 'SUBMITTED', version: 2 });
    expect(await eventsOf(id)).toEqual(['proposal.submitted']);
  });
});

describe('a transition', () => {
  it('of a rejected proposal leads nowhere', async () => {
    const id = await newProposal(service.api);
    await move(service.api, id, 'submit', 1);
    expect((await move(service.api, id, 'reject', 2)).body).toMatchObject({ status: 'REJECTED', version: 3 });
    for (const verb of ['submit', 'accept', 'reject'] as const) {
      const refused = await move(service.api, id, verb, 3);
      expectProblem(refused, 409, 'INVALID_STATE');
      expect(refused.body).toMatchObject({ currentStatus: 'REJECTED', currentVersion: 3 });
    }
    expect(await eventsOf(id)).toEqual(['proposal.submitted', 'proposal.rejected']);
  });

  it('with a stale version is refused with the current one, and stays refused under its key', async () => {
    const id = await newProposal(service.api);
    const key = randomUUID();
    const early = await move(service.api, id, 'accept', 2, { key });
    expectProblem(early, 409, 'VERSION_CONFLICT');
    expect(early.body).toMatchObject({ currentVersion: 1, currentStatus: 'DRAFT', effect: 'not_applied' });
    await move(service.api, id, 'submit', 1);
    const replay = await move(service.api, id, 'accept', 2, { key });
    expect([replay.status, replay.text]).toEqual([409, early.text]);
    expect((await move(service.api, id, 'accept', 2)).status).toBe(200);
  });

  it('with a version that is yet to come is refused although the state would allow it', async () => {
    const id = await newProposal(service.api);
    for (const version of [2, 2_147_483_647]) {
      const refused = await move(service.api, id, 'submit', version);
      expectProblem(refused, 409, 'VERSION_CONFLICT');
      expect(refused.body).toMatchObject({ currentVersion: 1, currentStatus: 'DRAFT' });
    }
    expect(await find(id)).toMatchObject({ status: 'DRAFT', version: 1 });
  });

  it('in the wrong state stays refused under its key, also when the state has come', async () => {
    const id = await newProposal(service.api);
    const key = randomUUID();
    const early = await move(service.api, id, 'reject', 1, { key });
    expectProblem(early, 409, 'INVALID_STATE');
    await move(service.api, id, 'submit', 1);
    expect((await move(service.api, id, 'reject', 1, { key })).text).toBe(early.text);
    expect((await find(id)).status).toBe('SUBMITTED');
  });

  it('accepted and rejected at once is one of the two', async () => {
    const id = await newProposal(service.api);
    await move(service.api, id, 'submit', 1);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => move(service.api, id, index % 2 ? 'accept' : 'reject', 2)),
    );
    const [winner, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(await find(id)).toEqual(winner?.body);
  });

  it('of a proposal of another client is like one of a proposal that does not exist', async () => {
    const id = await newProposal(service.api);
    const anonymous = ({ body }: { body: object }) => ({ ...body, operationId: '' });
    for (const verb of ['submit', 'accept', 'reject'] as const) {
      const foreign = await move(service.api, id, verb, 1, stranger);
      expectProblem(foreign, 404, 'NOT_FOUND');
      expect(anonymous(foreign)).toEqual(anonymous(await move(service.api, uuidv7(), verb, 1, stranger)));
    }
    const read = await service.api.get(`/v1/proposals/${id}`, stranger);
    expectProblem(read, 404, 'NOT_FOUND');
    expect(read.text).toBe((await service.api.get(`/v1/proposals/${uuidv7()}`, stranger)).text);
    expect(await find(id)).toMatchObject({ status: 'DRAFT', version: 1 });
  });

  it('is open to every sub-client, each with keys of its own', async () => {
    const id = await newProposal(service.api);
    const key = randomUUID();
    expect((await move(service.api, id, 'submit', 1, { key })).status).toBe(200);
    const shop = await move(service.api, id, 'submit', 1, { key, headers: { 'x-client-id': 'shop' } });
    expectProblem(shop, 409, 'VERSION_CONFLICT');
  });

  it('can be called by the name of its operation, and both ways share their keys', async () => {
    const id = await newProposal(service.api);
    const key = randomUUID();
    const before = await countStored(service.db);
    const byName = await service.api.post('/v1/operations/proposal.submit', { proposalId: id, version: 1 }, { key });
    const byPath = await move(service.api, id.toUpperCase(), 'submit', 1, { key });
    expect([byName.status, byPath.text]).toEqual([200, byName.text]);
    expect(byPath.headers['idempotency-mismatch']).toBeUndefined();
    expect((await countStored(service.db)).records).toBe(Number(before.records) + 1);
  });
});
