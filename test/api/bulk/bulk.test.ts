import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRegistry, operations } from '../../../src/processors/registry.ts';
import { BulkStream, sendBulk, toLines } from '../../support/bulk-stream.ts';
import { eventually } from '../../support/eventually.ts';
import { allSettled, judge } from '../../support/judge.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { expectProblem } from '../expectations.ts';
import { breakages } from './breakages.ts';

let service: TestService;
let accounts: { fromAccountId: string; toAccountId: string };
const url = () => service.api.url;

/** Thousands of transfers, on two cores that other tests use as well. */
const drainMs = 150_000;
const manyMs = { timeout: 240_000 };

beforeAll(async () => {
  service = await startTestService();
  accounts = { fromAccountId: await service.api.openAccount(1_000_000), toAccountId: await service.api.openAccount(0) };
});

afterAll(() => service.close());

const transfer = (more: Record<string, unknown> = {}) => ({
  operation: 'transfer.create',
  key: `bulk-${randomUUID()}`,
  request: { ...accounts, amount: 1, ...more },
});

const countTransfers = async (): Promise<number> => {
  await allSettled(service.db, drainMs);
  return Number((await sql<{ count: string }>`select count(*) from transfers`.execute(service.db)).rows[0]?.count);
};

describe('a bulk request', () => {
  it('answers each line with its operation, in order, and each operation runs once', async () => {
    const lines = Array.from({ length: 700 }, () => transfer());
    const before = await countTransfers();
    const answers = await sendBulk(url(), toLines(lines));
    expect(answers).toEqual(
      lines.map(({ key }, index) => ({
        line: index + 1,
        key,
        operationId: expect.any(String),
        status: 'QUEUED',
        created: true,
      })),
    );
    expect(await countTransfers()).toBe(before + lines.length);
    const again = await sendBulk(url(), toLines(lines));
    expect(again).toEqual(answers.map((answer) => ({ ...answer, status: 'SUCCEEDED', created: false })));
    expect(await countTransfers()).toBe(before + lines.length);
    // The same statistics as those of single requests.
    expect((await service.api.get(`/v1/operations/${answers[0].operationId}`)).body).toMatchObject({ replays: 1 });
    await judge(service.db);
  });

  it(
    'with every tenth of ten thousand lines broken takes the others, and names those by line and reason',
    manyMs,
    async () => {
      const expected = new Map<number, string>();
      const parts = Array.from({ length: 10_000 }, (_, index) => {
        if (index % 10 !== 9) return Buffer.from(toLines([transfer()]));
        const [code, make] = breakages[Math.floor(index / 10) % breakages.length] as (typeof breakages)[number];
        expected.set(index + 1, code);
        return Buffer.concat([Buffer.from(make(transfer())), Buffer.from('\n')]);
      });
      const before = await countTransfers();
      const answers = await sendBulk(url(), Buffer.concat(parts));
      expect(answers.map(({ line }) => line)).toEqual(parts.map((_, index) => index + 1));
      const refused = answers.filter(({ code }) => code !== undefined);
      expect(new Map(refused.map(({ line, code }) => [line, code]))).toEqual(expected);
      expect(refused.every(({ detail }) => typeof detail === 'string' && detail.length > 0)).toBe(true);
      expect(answers.filter(({ created }) => created === true)).toHaveLength(9_000);
      expect(await countTransfers()).toBe(before + 9_000);
    },
  );

  it('answers a line before the next one is sent', async () => {
    const stream = new BulkStream(url());
    expect(await stream.status()).toBe(200);
    for (let line = 1; line <= 3; line += 1) {
      await stream.send(transfer());
      expect(await stream.next()).toMatchObject({ line, created: true });
    }
    stream.request.end();
    expect(await stream.rest()).toEqual([]);
  });

  it('takes a last line without a newline, counts blank lines and does not answer them', async () => {
    const body = `\uFEFF${toLines([transfer(), '', '  \r'])}\n${JSON.stringify(transfer())}`;
    const answers = await sendBulk(url(), body.replaceAll('\n', '\r\n'));
    expect(answers.map(({ line, created }) => ({ line, created }))).toEqual([
      { line: 1, created: true },
      { line: 5, created: true },
    ]);
    expect(await sendBulk(url(), '')).toEqual([]);
  });

  it('with the same key twice makes one operation, and refuses another request under it', async () => {
    const first = transfer();
    const other = { ...first, request: { ...first.request, amount: 2 } };
    const answers = await sendBulk(url(), toLines([first, first, other, first]));
    const operationId = answers[0].operationId;
    expect(answers).toMatchObject([
      { created: true, operationId },
      { created: false, operationId },
      { code: 'INCONSISTENT_REQUEST', operationId, differingFields: ['amount'], key: first.key },
      { created: false, operationId },
    ]);
  });

  it('shares its keys with single requests, and keeps those of sub-clients apart', async () => {
    const line = transfer();
    const single = await service.api.post('/v1/transfers', line.request, { key: line.key });
    const [same] = await sendBulk(url(), toLines([line]));
    expect(same).toEqual({
      line: 1,
      key: line.key,
      operationId: single.body.id,
      status: 'SUCCEEDED',
      created: false,
    });
    const [apart] = await sendBulk(url(), toLines([line]), { 'x-client-id': 'shop-7' });
    expect(apart).toMatchObject({ created: true });
    expect(apart.operationId).not.toBe(single.body.id);
  });

  it('says where another request got the answer of the first, and runs what needs no key', async () => {
    const customer = (name: string, email: string, key?: string) => ({
      operation: 'customer.create',
      request: { name, email },
      ...(key && { key }),
    });
    const key = randomUUID();
    const answers = await sendBulk(
      url(),
      toLines([
        customer('Ada', 'ada@example.com', key),
        customer('Eve', 'eve@example.com', key),
        customer('Bob', 'bob@example.com'),
        { ...customer('Cid', 'cid@example.com'), key: null },
      ]),
    );
    const operationId = answers[0].operationId;
    expect(answers).toMatchObject([
      { created: true },
      { created: false, mismatch: true, operationId },
      { created: true, key: null },
      { created: true, key: null },
    ]);
  });

  it('lets an operation refuse a line before it is stored', async () => {
    const webhook = (target: string) => ({
      operation: 'webhook.register',
      key: randomUUID(),
      request: { url: target, events: ['transfer.completed'] },
    });
    const answers = await sendBulk(url(), toLines([transfer(), webhook('http://127.0.0.1/hook'), transfer()]));
    expect(answers).toMatchObject([{ created: true }, { code: 'WEBHOOK_URL_REFUSED' }, { created: true }]);
  });

  it('sent twice at once makes each operation once', manyMs, async () => {
    const lines = toLines(Array.from({ length: 1_000 }, () => transfer()));
    const before = await countTransfers();
    const [one, two] = await Promise.all([sendBulk(url(), lines), sendBulk(url(), lines)]);
    expect(one.map(({ operationId }) => operationId)).toEqual(two.map(({ operationId }) => operationId));
    expect([...one, ...two].filter(({ created }) => created)).toHaveLength(1_000);
    expect(await countTransfers()).toBe(before + 1_000);
    await judge(service.db);
  });

  it('that its client leaves in the middle keeps what was taken, and takes no half of a line', async () => {
    const [first, second] = [transfer(), transfer()];
    const stream = new BulkStream(url());
    await stream.send(first);
    expect(await stream.next()).toMatchObject({ created: true });
    await stream.write(JSON.stringify(second));
    stream.destroy();
    const isTaken = async ({ key }: { key: string }) =>
      (await service.api.get(`/v1/operations?key=${key}`)).body.items.length === 1;
    expect(await isTaken(first)).toBe(true);
    await eventually(async () => expect((await sendBulk(url(), toLines([transfer()])))[0].created).toBe(true));
    expect(await isTaken(second)).toBe(false);
  });

  it('is refused as a whole without a key of the API or as another type', async () => {
    const body = toLines([transfer()]);
    const headers = { 'content-type': 'application/x-ndjson' };
    const path = '/v1/operations/bulk';
    expectProblem(await service.api.send('POST', path, body, { headers, apiKey: 'nobody' }), 401, 'UNAUTHENTICATED');
    expectProblem(await service.api.send('POST', path, body), 415, 'UNSUPPORTED_MEDIA_TYPE');
    const zipped = { headers: { ...headers, 'content-encoding': 'gzip' } };
    expectProblem(await service.api.send('POST', path, body, zipped), 415, 'UNSUPPORTED_MEDIA_TYPE');
    expectProblem(await service.api.get(path), 404, 'NOT_FOUND');
  });
});

it('no operation may have the name that is the path of bulk requests', () => {
  const [operation] = operations;
  if (!operation) throw new Error('no operation is registered');
  expect(() => createRegistry([{ ...operation, name: 'bulk' }])).toThrow('no operation may be named bulk');
});
