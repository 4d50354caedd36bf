import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SemelClient, SemelError } from '../../src/client/index.ts';
import { testApiKey } from '../support/api.ts';
import { judge } from '../support/judge.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type Fate, startLossyServer } from './lossy-server.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

async function withClient(
  decide: (count: number, path: string) => Fate,
  work: (client: SemelClient, lost: () => number) => Promise<void>,
) {
  const server = await startLossyServer(service.api.url, decide);
  try {
    await work(new SemelClient({ url: server.url, apiKey: testApiKey }), () => server.lost);
  } finally {
    await server.close();
  }
}

const problem = (status: number, code: string, headers: Record<string, string> = {}): Fate => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: JSON.stringify({ type: 'about:blank', title: code, status, detail: 'planted', code }),
});

async function countTransfers(from: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from transfers where from_account_id = ${from}::uuid`.execute(service.db);
  return rows[0]?.count ?? 0;
}

describe('a server that drops one in three answers after it did the work', () => {
  it('gets a thousand calls, and a thousand effects come of them', async () => {
    const [from, to] = [await service.api.openAccount(1_000), await service.api.openAccount(0)];
    await withClient(
      (count) => (count % 3 === 0 ? 'drop' : 'pass'),
      async (client, lost) => {
        let left = 1_000;
        const work = async () => {
          while (left > 0) {
            left -= 1;
            await client.transfers.create({ fromAccountId: from, toAccountId: to, amount: 1 });
          }
        };
        await Promise.all(Array.from({ length: 20 }, work));
        expect(lost()).toBeGreaterThan(400);
      },
    );
    expect(await countTransfers(from)).toBe(1_000);
    expect(await service.api.balanceOf(to)).toBe(1_000);
    await judge(service.db);
  });
});

describe('an answer that passes', () => {
  it.each([
    ['429 with Retry-After', problem(429, 'RATE_LIMITED', { 'retry-after': '0' })],
    ['503', problem(503, 'UNAVAILABLE', { 'retry-after': '0' })],
    ['409 of an operation in progress', problem(409, 'OPERATION_IN_PROGRESS', { 'retry-after': '0' })],
    ['502 of something in between', { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Oops</h1>' }],
  ] satisfies [string, Fate][])('%s is asked again, with the same key', async (_, fate) => {
    const [from, to] = [await service.api.openAccount(10), await service.api.openAccount(0)];
    await withClient(
      (count) => (count <= 2 ? fate : 'pass'),
      async (client) => {
        const transfer = await client.transfers.create({ fromAccountId: from, toAccountId: to, amount: 3 });
        expect(transfer).toMatchObject({ status: 'COMPLETED', amount: 3 });
      },
    );
    expect(await countTransfers(from)).toBe(1);
  });

  it('is waited for as long as the service asks, and no longer than the call may take', async () => {
    const fetch = vi.fn(globalThis.fetch);
    const busy = problem(503, 'UNAVAILABLE', { 'retry-after': '3600' });
    const server = await startLossyServer(service.api.url, () => busy);
    const client = new SemelClient({ url: server.url, apiKey: testApiKey, fetch });
    await expect(client.accounts.find(randomUUID())).rejects.toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    expect(fetch).toHaveBeenCalledTimes(1);
    await server.close();
  });
});

describe('an answer for good', () => {
  it('is an error with its code and what became of the effect, and is not asked again', async () => {
    const [from, to] = [await service.api.openAccount(1), await service.api.openAccount(0)];
    const fetch = vi.fn(globalThis.fetch);
    const client = new SemelClient({ url: service.api.url, apiKey: testApiKey, fetch });
    const failed = await client.transfers
      .create({ fromAccountId: from, toAccountId: to, amount: 2 })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(SemelError);
    expect(failed).toMatchObject({ code: 'INSUFFICIENT_FUNDS', status: 422, effect: 'not_applied' });
    expect(failed).toMatchObject({ operationId: expect.any(String), problem: { title: expect.any(String) } });
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it('a service that is not there is UNREACHABLE when the time is up, and the effect is unknown', async () => {
    const client = new SemelClient({ url: 'http://127.0.0.1:1', apiKey: testApiKey, timeoutMs: 300 });
    const call = client.accounts.open({ owner: 'Ada', currency: 'EUR' });
    await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
  });

  it('what would be another thing the second time is not sent again after a broken connection', async () => {
    await withClient(
      () => 'drop',
      async (client, lost) => {
        await expect(client.webhooks.test(randomUUID())).rejects.toMatchObject({ code: 'UNREACHABLE' });
        expect(lost()).toBe(1);
      },
    );
  });

  it('a caller who has had enough gets out, with its own reason', async () => {
    const enough = new AbortController();
    await withClient(
      () => {
        enough.abort(new Error('enough'));
        return 'drop';
      },
      async (client) => {
        const call = client.accounts.open({ owner: 'Ada', currency: 'EUR' }, { signal: enough.signal });
        await expect(call).rejects.toThrow('enough');
      },
    );
  });
});
