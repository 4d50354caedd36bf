import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';

const max = 9_007_199_254_740_991;
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const transfer = (request: unknown, key: string = randomUUID()) => service.api.post('/v1/transfers', request, { key });

async function openTwo(balance: number, more: Record<string, unknown> = {}) {
  const [fromAccountId, toAccountId] = await Promise.all([
    service.api.openAccount(balance, more),
    service.api.openAccount(0),
  ]);
  return { fromAccountId, toAccountId };
}

async function sumOfMovements(): Promise<string> {
  const { rows } = await sql<{ sum: string }>`select coalesce(sum(amount), 0)::text as sum from movements`.execute(
    service.db,
  );
  return rows[0]?.sum ?? '';
}

describe('a transfer that is refused', () => {
  const refusals: [string, () => Promise<{ fromAccountId: string; toAccountId: string; amount: number }>][] = [
    ['INSUFFICIENT_FUNDS', async () => ({ ...(await openTwo(10)), amount: 11 })],
    [
      'SAME_ACCOUNT',
      async () => {
        const { fromAccountId } = await openTwo(10);
        return { fromAccountId, toAccountId: fromAccountId.toUpperCase(), amount: 1 };
      },
    ],
    ['CURRENCY_MISMATCH', async () => ({ ...(await openTwo(10, { currency: 'USD' })), amount: 1 })],
    ['ACCOUNT_NOT_FOUND', async () => ({ ...(await openTwo(10)), toAccountId: uuidv7(), amount: 1 })],
    ['ACCOUNT_NOT_FOUND', async () => ({ ...(await openTwo(10)), fromAccountId: uuidv7(), amount: 1 })],
    [
      'BALANCE_LIMIT',
      async () => {
        const { fromAccountId } = await openTwo(10);
        return { fromAccountId, toAccountId: await service.api.openAccount(max), amount: 1 };
      },
    ],
  ];

  it.each(refusals)('with %s is stored, replayed to the letter, and moves nothing', async (code, prepare) => {
    const request = await prepare();
    const key = randomUUID();
    const [before, balance] = [await countStored(service.db), await service.api.balanceOf(request.fromAccountId)];
    const first = await transfer(request, key);
    expectProblem(first, 422, code);
    expect(first.body).toMatchObject({ operationId: first.headers['operation-id'], effect: 'not_applied' });
    expect(first.headers['idempotent-replayed']).toBe('false');
    expect(Date.parse(String(first.headers['idempotency-expires']))).toBeGreaterThan(Date.now());

    const replay = await transfer(request, key);
    expect([replay.status, replay.text]).toEqual([first.status, first.text]);
    expect(replay.headers['idempotent-replayed']).toBe('true');
    expect(replay.headers['idempotency-expires']).toBe(first.headers['idempotency-expires']);

    expect(await service.api.balanceOf(request.fromAccountId)).toBe(balance);
    const { records, transfers, movements } = await countStored(service.db);
    expect([records, transfers, movements]).toEqual([Number(before.records) + 1, before.transfers, before.movements]);
  });

  it('stays refused under its key when the reason is gone, and passes under another', async () => {
    const { fromAccountId, toAccountId } = await openTwo(10);
    const key = randomUUID();
    const refused = await transfer({ fromAccountId, toAccountId, amount: 20 }, key);
    expectProblem(refused, 422, 'INSUFFICIENT_FUNDS');
    const donor = await service.api.openAccount(100);
    expect((await transfer({ fromAccountId: donor, toAccountId: fromAccountId, amount: 50 })).status).toBe(201);
    expect((await transfer({ fromAccountId, toAccountId, amount: 20 }, key)).text).toBe(refused.text);
    expect((await transfer({ fromAccountId, toAccountId, amount: 20 })).status).toBe(201);
  });
});

describe('the overdraft limit', () => {
  it('may be used to the last unit and not beyond', async () => {
    const { fromAccountId, toAccountId } = await openTwo(10, { overdraftLimit: 5 });
    expect((await transfer({ fromAccountId, toAccountId, amount: 10 })).status).toBe(201);
    expectProblem(await transfer({ fromAccountId, toAccountId, amount: 6 }), 422, 'INSUFFICIENT_FUNDS');
    expect((await transfer({ fromAccountId, toAccountId, amount: 5 })).status).toBe(201);
    expectProblem(await transfer({ fromAccountId, toAccountId, amount: 1 }), 422, 'INSUFFICIENT_FUNDS');
    expect(await service.api.balanceOf(fromAccountId)).toBe(-5);
    expect(await service.api.balanceOf(toAccountId)).toBe(15);
  });
});

describe('the same key', () => {
  it('with another amount is refused by name, tells of the first, and moves nothing', async () => {
    const { fromAccountId, toAccountId } = await openTwo(100);
    const key = randomUUID();
    const first = await transfer({ fromAccountId, toAccountId, amount: 10 }, key);
    const other = await transfer({ fromAccountId, toAccountId, amount: 11 }, key);
    expectProblem(other, 422, 'INCONSISTENT_REQUEST');
    expect(other.body).toMatchObject({ operationId: first.body.id, differingFields: ['amount'], effect: 'applied' });
    expect(other.headers['operation-id']).toBe(first.body.id);
    expect(await service.api.balanceOf(fromAccountId)).toBe(90);
    expect((await transfer({ fromAccountId, toAccountId, amount: 10 }, key)).text).toBe(first.text);
  });

  it('names every field that differs, also one that was left out', async () => {
    const { fromAccountId, toAccountId } = await openTwo(100);
    const key = randomUUID();
    await transfer({ fromAccountId, toAccountId, amount: 10, description: 'rent' }, key);
    const other = await transfer({ fromAccountId: toAccountId, toAccountId: fromAccountId, amount: 10 }, key);
    expectProblem(other, 422, 'INCONSISTENT_REQUEST');
    expect(other.body.differingFields).toEqual(['description', 'fromAccountId', 'toAccountId']);
  });

  it('with the fields in any order and any spelling is the same request', async () => {
    const { fromAccountId, toAccountId } = await openTwo(1_000);
    const fields = [
      `"fromAccountId": "${fromAccountId}"`,
      `"toAccountId":"${toAccountId.toUpperCase()}"`,
      '"\\u0061mount" :1.0e1',
      '"description":"\\u0072ent"',
    ];
    const key = randomUUID();
    const first = await transfer({ fromAccountId, toAccountId, amount: 10, description: 'rent' }, key);
    const shuffled = fc.shuffledSubarray(fields, { minLength: fields.length });
    const property = fc.asyncProperty(shuffled, async (order) => {
      const answer = await service.api.send('POST', '/v1/transfers', `{${order.join(',\n')}}`, { key });
      expect([answer.status, answer.text]).toEqual([201, first.text]);
    });
    await fc.assert(property, { numRuns: 24 });
    expect(await service.api.balanceOf(fromAccountId)).toBe(990);
  });

  it('with a default left out or written out is the same request', async () => {
    const key = randomUUID();
    const open = (more: Record<string, unknown>) =>
      service.api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR', ...more }, { key });
    const first = await open({});
    expect((await open({ openingBalance: 0, overdraftLimit: 0 })).text).toBe(first.text);
    expectProblem(await open({ openingBalance: 1 }), 422, 'INCONSISTENT_REQUEST');
  });
});

describe('the ledger', () => {
  it('the largest amount moves whole, to the last unit', async () => {
    const { fromAccountId, toAccountId } = await openTwo(max);
    const answer = await transfer({ fromAccountId, toAccountId, amount: max });
    expect([answer.status, answer.body.amount]).toEqual([201, max]);
    expect(answer.text).toContain(`"amount":${max}`);
    expect(await service.api.balanceOf(fromAccountId)).toBe(0);
    expect(await service.api.balanceOf(toAccountId)).toBe(max);
    // An overdraft of the same size on top of it.
    const deep = await openTwo(0, { overdraftLimit: max });
    expect((await transfer({ ...deep, amount: max })).status).toBe(201);
    expect(await service.api.balanceOf(deep.fromAccountId)).toBe(-max);
    expectProblem(await transfer({ ...deep, amount: 1 }), 422, 'INSUFFICIENT_FUNDS');
  });

  it('all movements sum to zero, opening balances too', async () => {
    const { fromAccountId, toAccountId } = await openTwo(123);
    await service.api.openAccount(77, { currency: 'USD' });
    await transfer({ fromAccountId, toAccountId, amount: 23 });
    await transfer({ fromAccountId, toAccountId, amount: 1_000 });
    expect(await sumOfMovements()).toBe('0');
    expect((await countStored(service.db)).movements).toBeGreaterThan(0);
  });

  it('an answer has the fields of the contract, and the description as it was sent', async () => {
    const { fromAccountId, toAccountId } = await openTwo(5);
    const description = 'Zoë\'s "rent" \\ 😀\n2nd line \u2028 </script>';
    const { body } = await transfer({ fromAccountId, toAccountId, amount: 2, description });
    const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const expected = { id: expect.any(String), fromAccountId, toAccountId, amount: 2, currency: 'EUR', description };
    expect(body).toEqual({ ...expected, status: 'COMPLETED', createdAt });
    const without = await transfer({ fromAccountId, toAccountId, amount: 2 });
    expect(without.body.description).toBeNull();
    for (const { id } of [body, without.body]) {
      const shown = await service.api.get(`/v1/transfers/${id}`);
      expect([shown.status, shown.body]).toEqual([200, id === body.id ? body : without.body]);
    }
  });
});
