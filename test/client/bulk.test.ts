import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BulkLine, type BulkOutcome, SemelClient } from '../../src/client/index.ts';
import { testApiKey } from '../support/api.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { startLossyServer } from './lossy-server.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const lineFor = (owner: string): BulkLine => ({
  operation: 'account.open',
  request: { owner, currency: owner === 'bad' ? 'nothing' : 'EUR' },
});

async function countAccounts(owner: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from records where request ->> 'owner' = ${owner}`.execute(service.db);
  return rows[0]?.count ?? 0;
}

async function collect(outcomes: AsyncIterable<BulkOutcome>): Promise<BulkOutcome[]> {
  const all: BulkOutcome[] = [];
  for await (const outcome of outcomes) all.push(outcome);
  return all;
}

describe('bulk', () => {
  const client = () => new SemelClient({ url: service.api.url, apiKey: testApiKey });

  it('says of each line what became of it, in order, and a bad one stops no other', async () => {
    const owners = ['Ada', 'bad', 'Grace'];
    const outcomes = await collect(client().operations.bulk(owners.map(lineFor)));
    expect(outcomes).toMatchObject([
      { line: 1, created: true, operationId: expect.any(String), key: expect.any(String) },
      { line: 2, code: 'INVALID_REQUEST' },
      { line: 3, created: true },
    ]);
  });

  it('over a connection that breaks again and again, each line is taken once and has one outcome', async () => {
    const count = 6_000;
    let connections = 0;
    const server = await startLossyServer(service.api.url, () => {
      connections += 1;
      return connections <= 5 ? { cutAfterBytes: connections * 20_000 } : 'pass';
    });
    const lossy = new SemelClient({ url: server.url, apiKey: testApiKey });
    const outcomes = await collect(lossy.operations.bulk(Array.from({ length: count }, () => lineFor('Broken'))));
    await server.close();
    // More, if a busy service asked to come back with some lines later.
    expect(connections).toBeGreaterThanOrEqual(6);
    expect(outcomes.map(({ line }) => line)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    expect(new Set(outcomes.map((outcome) => 'operationId' in outcome && outcome.operationId)).size).toBe(count);
    expect(await countAccounts('Broken')).toBe(count);
  });

  it('takes lines only as fast as outcomes are consumed', async () => {
    let taken = 0;
    const endless = (function* () {
      for (;;) {
        taken += 1;
        yield lineFor('Endless');
      }
    })();
    for await (const { line } of client().operations.bulk(endless)) if (line === 10) break;
    // What may be on its way, and not more however long it goes on.
    expect(taken).toBeLessThanOrEqual(2_100);
  });

  it('a source that fails ends it with its own error', async () => {
    const failing = (async function* () {
      yield lineFor('Ada');
      throw new Error('no more paper');
    })();
    await expect(collect(client().operations.bulk(failing))).rejects.toThrow('no more paper');
  });

  it('a key that is refused ends it at once', async () => {
    const stranger = new SemelClient({ url: service.api.url, apiKey: 'not-a-key-of-anybody' });
    const refused = collect(stranger.operations.bulk([lineFor('Ada')]));
    await expect(refused).rejects.toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
  });
});
