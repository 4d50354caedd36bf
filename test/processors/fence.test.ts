import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { succeeded } from '../../src/processors/outcomes.ts';
import { operations } from '../../src/processors/registry.ts';
import { insertAccount } from '../../src/store/accounts.ts';
import { claimRecords, finishRecords } from '../../src/store/records.ts';
import { judge } from '../support/judge.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
const gates = new Map<string, { entered: () => void; leave: Promise<void> }>();

/** Long work: its claim is committed first, then it waits for the test. */
const slow = defineOperation({
  name: 'test.slow',
  request: z.strictObject({ name: z.string() }),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  claim: 'first',
  process: async ({ name }, { tx, record }) => {
    await insertAccount(tx, {
      id: record.id,
      client: record.client,
      owner: name,
      currency: 'EUR',
      openingBalance: 0,
      overdraftLimit: 0,
    });
    const gate = gates.get(name);
    gates.delete(name);
    gate?.entered();
    await gate?.leave;
    return succeeded(201, { epoch: record.epoch });
  },
});

beforeAll(async () => {
  service = await startTestService({ operations: [...operations, slow] });
});

afterAll(() => service.close());

it('a worker whose record was claimed by another one meanwhile cannot commit', async () => {
  const name = randomUUID();
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const entered = new Promise<void>((resolve) => gates.set(name, { entered: resolve, leave: left }));
  const answer = service.api.post('/v1/operations/test.slow', { name }, { key: name });
  await entered;

  const record = await service.db.selectFrom('records').selectAll().where('key', '=', name).executeTakeFirstOrThrow();
  expect(record).toMatchObject({ status: 'PROCESSING', epoch: 1 });
  await service.db.transaction().execute((tx) => claimRecords(tx, [record.id], 'another worker'));
  leave();

  // The first run was undone as a whole; the job came back, claimed anew, and committed once.
  expect((await answer).body).toEqual({ epoch: 3 });
  const accounts = await service.db.selectFrom('accounts').selectAll().where('owner', '=', name).execute();
  expect(accounts).toHaveLength(1);
  await judge(service.db);
});

it('finishing with an old epoch, or twice, is refused and leaves nothing', async () => {
  const id = await service.api.openAccount(5);
  const outcome = {
    id,
    epoch: 1,
    status: 'SUCCEEDED',
    response_status: 200,
    response_body: '{}',
    error: null,
    resource_type: null,
    resource_id: null,
    events: [{ type: 'test.happened', data: {} }],
    ttl_seconds: 60,
    detail: null,
  } as const;
  const finish = (epoch: number) =>
    service.db.transaction().execute((tx) => finishRecords(tx, [{ ...outcome, epoch }], 'an impostor'));
  await expect(finish(0)).rejects.toMatchObject({ code: 'SM001' });
  await expect(finish(1)).rejects.toMatchObject({ code: 'SM001' });
  expect(await service.db.selectFrom('events').select('id').where('type', '=', 'test.happened').execute()).toEqual([]);
  await judge(service.db);
});

it('a settled record cannot be claimed', async () => {
  const id = await service.api.openAccount(5);
  expect(await service.db.transaction().execute((tx) => claimRecords(tx, [id], 'a late worker'))).toEqual([]);
});
