import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operations } from '../../src/processors/registry.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createGatedOperation } from './gated-operation.ts';

const gated = createGatedOperation('test.gated', 'with-effect');
let service: TestService;

beforeAll(async () => {
  service = await startTestService({ operations: [...operations, gated.operation] });
});

afterAll(async () => {
  gated.openAll();
  await service.close();
});

/** The worker has claimed the record in a transaction that stays open. */
async function untilInTransaction(): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and application_name <> 'test' and state = 'idle in transaction'`.execute(
      service.db,
    );
    expect(rows).toHaveLength(1);
  });
}

it('duplicates do not wait for the transaction of the first, and hold up nobody else', async () => {
  const key = randomUUID();
  const send = () =>
    service.api.post('/v1/operations/test.gated', { gate: key }, { key, headers: { prefer: 'wait=0' } });
  expect((await send()).status).toBe(202);
  await untilInTransaction();
  const open = () => service.api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR' }, { key: randomUUID() });
  const answers = await Promise.all([send, send, send, send, open, open, open, open].map((request) => request()));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 201, 201, 201, 201]);
});
