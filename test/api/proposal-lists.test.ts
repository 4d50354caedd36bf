import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { move, newCustomer, newProposal } from '../support/proposals.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { expectProblem } from './expectations.ts';

let service: TestService;
let customerId: string;

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  customerId = await newCustomer(service.api);
  await ensureApiKey(service.db, 'the-key-of-another-client', { client: 'other', scopes: ['operate'] });
});

afterAll(() => service.close());

/** Reads page after page; `between` happens after each one. */
async function readAll(query: string, between: () => Promise<unknown> = async () => undefined): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await service.api.get(`/v1/proposals?${query}${cursor && `&cursor=${cursor}`}`);
    expect(answer.status, answer.text).toBe(200);
    ids.push(...answer.body.items.map(({ id }: { id: string }) => id));
    cursor = answer.body.nextCursor;
    await between();
  }
  return ids;
}

describe('a list of proposals', () => {
  it('read while others are added has each one that was there once, newest first', async () => {
    const there: string[] = [];
    for (let count = 0; count < 7; count += 1) there.unshift(await newProposal(service.api, { customerId }));
    const property = fc.asyncProperty(fc.integer({ min: 1, max: 4 }), async (limit) => {
      const seen = await readAll(`customerId=${customerId}&limit=${limit}`, () =>
        Promise.all([newProposal(service.api, { customerId }), newProposal(service.api)]),
      );
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(seen.toSorted().reverse());
      expect(seen.filter((id) => there.includes(id))).toEqual(there);
    });
    await fc.assert(property, { numRuns: 5 });
  });

  it('has what its filters say', async () => {
    const own = await newCustomer(service.api);
    const ids = [
      await newProposal(service.api, { customerId: own }),
      await newProposal(service.api, { customerId: own }),
    ];
    const [draft = '', accepted = ''] = ids;
    await move(service.api, accepted, 'submit', 1);
    await move(service.api, accepted, 'accept', 2);
    expect(await readAll(`customerId=${own}`)).toEqual([accepted, draft]);
    expect(await readAll(`customerId=${own.toUpperCase()}&status=DRAFT`)).toEqual([draft]);
    expect(await readAll(`customerId=${own}&status=ACCEPTED`)).toEqual([accepted]);
    expect(await readAll(`customerId=${own}&status=REJECTED`)).toEqual([]);
    expect(await readAll('status=ACCEPTED')).toContain(accepted);
    expect(await readAll('status=DRAFT&limit=3')).not.toContain(accepted);
  });

  it('of another client is empty, whatever it filters by', async () => {
    await newProposal(service.api, { customerId });
    for (const query of ['', `?customerId=${customerId}`, '?status=DRAFT']) {
      const answer = await service.api.get(`/v1/proposals${query}`, { apiKey: 'the-key-of-another-client' });
      expect(answer.body).toEqual({ items: [], nextCursor: null });
    }
  });

  it.each([
    ...['limit=0', 'limit=201', 'limit=-1', 'limit=1.5', 'limit=x', 'limit=', 'cursor=', 'cursor=x', 'cursor=MQ'],
    ...['cursor=%00', 'status=draft', 'status=', 'status=OPEN', 'customerId=x', 'customerId=', 'customerId=%00', 'a=1'],
  ])('with %s is refused', async (query) => {
    expectProblem(await service.api.get(`/v1/proposals?${query}`), 400, 'INVALID_REQUEST');
  });
});
