import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureApiKey } from '../../../src/store/api-keys.ts';
import { eventually } from '../../support/eventually.ts';
import { scrape, sumOf } from '../../support/metrics.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  await ensureApiKey(service.db, 'key-that-may-only-operate', { client: 'default', scopes: ['operate'] });
});

afterAll(() => service.close());

it('an operator sees what is wrong without SQL, and one that was seen is counted no more', async () => {
  const account = await service.api.openAccount(5);
  const never = (await service.api.get('/v1/admin/invariants')).body;
  expect(never.items).toContainEqual({ invariant: 'ledger_imbalance', violations: 0, checkedAt: null });

  await sql`update accounts set balance = 6 where id = ${account}::uuid`.execute(service.db);
  await eventually(async () => expect(sumOf(await scrape(service.api), 'invariant_ledger_imbalance')).toBe(1));
  const { items } = (await service.api.get('/v1/admin/invariants/faults')).body;
  expect(items).toMatchObject([
    { subject: `account:${account}`, detail: { balance: 6, ofMovements: 5 }, acknowledgedAt: null, note: null },
  ]);

  const path = `/v1/admin/invariants/faults/${items[0].id}/acknowledge`;
  expect((await service.api.post(path, {})).status).toBe(400);
  const seen = await service.api.post(path, { note: 'a test did it' });
  expect(seen).toMatchObject({
    status: 200,
    body: { acknowledgedBy: expect.stringMatching(/^admin:default:/), note: 'a test did it' },
  });
  const after = (await service.api.get('/v1/admin/invariants')).body;
  expect(after.items).toContainEqual(expect.objectContaining({ invariant: 'ledger_imbalance', violations: 0 }));
  await eventually(async () => expect(sumOf(await scrape(service.api), 'invariant_ledger_imbalance')).toBe(0));
});

it('nobody else does', async () => {
  const as = { apiKey: 'key-that-may-only-operate' };
  const paths = ['/v1/admin/invariants', '/v1/admin/invariants/faults'];
  for (const path of paths) expect((await service.api.get(path, as)).status, path).toBe(403);
  const path = `/v1/admin/invariants/faults/${randomUUID()}/acknowledge`;
  expect((await service.api.post(path, { note: 'x' }, as)).status).toBe(403);
  expect((await service.api.post(path, { note: 'x' })).status).toBe(404);
});
