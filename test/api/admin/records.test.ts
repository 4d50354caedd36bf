import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../../src/processors/define-operation.ts';
import { succeeded } from '../../../src/processors/outcomes.ts';
import { operations } from '../../../src/processors/registry.ts';
import { ensureApiKey } from '../../../src/store/api-keys.ts';
import { eventually } from '../../support/eventually.ts';
import { judge } from '../../support/judge.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createGatedOperation } from '../gated-operation.ts';

let service: TestService;
const gated = createGatedOperation('test.gated', 'first');
let isBroken = true;

const moody = defineOperation({
  name: 'test.moody',
  request: z.strictObject({}),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: async () => {
    if (isBroken) throw new Error('not today');
    return succeeded(200, { well: true });
  },
});

beforeAll(async () => {
  service = await startTestService({
    operations: [...operations, gated.operation, moody],
    environment: { RETRY_DELAYS_MS: '1', LOCK_DURATION_MS: '3000', WAIT_SECONDS: '30' },
  });
  await ensureApiKey(service.db, 'key-of-another-client', { client: 'another', scopes: ['operate'] });
});

afterAll(async () => {
  gated.openAll();
  await service.close();
});

const records = '/v1/admin/idempotency/records';
const reset = (id: string) => service.api.send('POST', `${records}/${id}/reset`);
const trailOf = async (id: string) => (await service.api.get(`${records}/${id}`)).body.audit;
const ofAnother = { apiKey: 'key-of-another-client' };

describe('records that are stuck', () => {
  it('are listed across clients, with whose they are, and only after their time', async () => {
    const gate = randomUUID();
    const send = (headers = {}) =>
      service.api.post('/v1/operations/test.gated', { gate }, { key: gate, ...ofAnother, headers });
    expect((await send({ prefer: 'respond-async' })).status).toBe(202);
    const listed = async (minutes: number) =>
      (await service.api.get(`${records}/stuck?minutes=${minutes}`)).body.items.find(
        (item: { key: string }) => item.key === gate,
      );
    const item = await eventually(async () => {
      const found = await listed(0);
      expect(found).toMatchObject({
        status: 'PROCESSING',
        client: 'another',
        operation: 'test.gated',
        effect: 'unknown',
      });
      return found;
    });
    expect(await listed(30)).toBeUndefined();
    await sql`update records set updated_at = now() - interval '31 minutes' where id = ${item.id}::uuid`.execute(
      service.db,
    );
    expect(await listed(30)).toMatchObject({ id: item.id });
    const health = (await service.api.get('/v1/admin/idempotency/health')).body;
    expect(health).toMatchObject({ status: 'ok', processing: 1 });
    expect(Date.parse(health.oldestUnfinishedAt)).toBeGreaterThan(Date.now() - 60_000);
    gated.open(gate);
    expect((await send()).status).toBe(201);
    expect(await listed(0)).toBeUndefined();
  });

  it.each(['minutes=-1', 'minutes=x', 'minutes=99999999', 'limit=0', 'cursor=x', 'more=1'])(
    'are not listed for %s',
    async (query) => {
      expect((await service.api.get(`${records}/stuck?${query}`)).body.code).toBe('INVALID_REQUEST');
    },
  );
});

describe('a reset', () => {
  it('runs a failed record again as a new generation, and says who asked', async () => {
    isBroken = true;
    const key = randomUUID();
    const failed = await service.api.post('/v1/operations/test.moody', {}, { key, ...ofAnother });
    expect(failed.body.code).toBe('OPERATION_FAILED');
    isBroken = false;
    const id = failed.body.operationId;
    const answer = await service.api.post(`${records}/${id}/reset`, { note: 'the disk is mended' });
    expect(answer).toMatchObject({ status: 202, body: { id, status: 'QUEUED', generation: 2, attempts: 0 } });
    await eventually(async () => {
      const { body } = await service.api.get(`/v1/operations/${id}`, ofAnother);
      expect(body).toMatchObject({ status: 'SUCCEEDED', result: { well: true } });
    });
    const row = (await trailOf(id)).find((item: { from: string }) => item.from === 'FAILED');
    expect(row).toMatchObject({ to: 'QUEUED', detail: { generation: 2, note: 'the disk is mended' } });
    expect(row.actor).toMatch(/^admin:default:[0-9a-f-]{36}$/);
    const letters = await service.db.selectFrom('dead_letters').selectAll().where('record_id', '=', id).execute();
    expect(letters).toEqual([]);
    await judge(service.db);
  });

  it('of a record in the hands of a worker makes another run, and one of them counts', async () => {
    const gate = randomUUID();
    const answer = service.api.post('/v1/operations/test.gated', { gate }, { key: gate });
    const id = await eventually(async () => {
      const { body } = await service.api.get(`/v1/operations?key=${gate}`);
      expect(body.items[0].status).toBe('PROCESSING');
      return body.items[0].id;
    });
    expect((await reset(id)).status).toBe(202);
    gated.open(gate);
    expect((await answer).status).toBe(201);
    const trail = await trailOf(id);
    expect(trail.filter((item: { to: string }) => item.to === 'SUCCEEDED')).toHaveLength(1);
    expect(trail.at(-1).epoch).toBeGreaterThanOrEqual(3);
    await judge(service.db);
  });

  it('of what has ended is refused and changes nothing', async () => {
    const id = await service.api.openAccount(10);
    const accounts = [id, randomUUID()];
    const body = { fromAccountId: accounts[0], toAccountId: accounts[1], amount: 1 };
    const refused = await service.api.post('/v1/transfers', body, { key: randomUUID() });
    expect(refused.status).toBe(422);
    expect(await reset(id)).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE', currentStatus: 'SUCCEEDED', effect: 'applied' },
    });
    expect(await reset(refused.body.operationId)).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE', currentStatus: 'REJECTED', effect: 'not_applied' },
    });
    expect(await trailOf(id)).toHaveLength(3);
    await judge(service.db);
  });

  it('of nothing is not found, and a body that is not understood is refused', async () => {
    expect((await reset(randomUUID())).status).toBe(404);
    expect((await reset('nonsense')).status).toBe(404);
    const id = await service.api.openAccount(0);
    expect((await service.api.post(`${records}/${id}/reset`, { force: true })).status).toBe(400);
    expect((await service.api.post(`${records}/${id}/reset`, { note: 'x'.repeat(501) })).status).toBe(400);
    expect((await service.api.post(`${records}/${id}/reset`, { note: '\0' })).status).toBe(400);
  });
});

describe('resolving', () => {
  it('is for records in doubt only', async () => {
    const id = await service.api.openAccount(0);
    const resolve = (body: unknown, of = id) => service.api.post(`${records}/${of}/resolve`, body);
    expect(await resolve({ outcome: 'applied' })).toMatchObject({ status: 409, body: { code: 'INVALID_STATE' } });
    expect((await resolve({ outcome: 'applied' }, randomUUID())).status).toBe(404);
    expect((await resolve({ outcome: 'maybe' })).status).toBe(400);
    expect((await resolve({})).status).toBe(400);
  });
});

describe('health', () => {
  it('counts each status and sums them up', async () => {
    const { body } = await service.api.get('/v1/admin/idempotency/health');
    const { rows } = await sql<{ status: string; count: number }>`
      select status, count(*) as count from records group by status`.execute(service.db);
    const counts = Object.fromEntries(rows.map(({ status, count }) => [status.toLowerCase(), count]));
    expect(body).toMatchObject({ ...counts, unknown: 0, queued: 0, oldestUnfinishedAt: null });
    expect(body.totalRecords).toBe(rows.reduce((sum, { count }) => sum + count, 0));
  });

  it('is degraded when a record is stuck', async () => {
    const idle = await startTestService({ role: 'api' });
    const body = { owner: 'Ada', currency: 'EUR' };
    await idle.api.post('/v1/accounts', body, { key: randomUUID(), headers: { prefer: 'respond-async' } });
    expect((await idle.api.get('/v1/admin/idempotency/health')).body).toMatchObject({ status: 'ok', queued: 1 });
    // Taken an hour ago: ids begin with the time.
    const id = uuidv7({ msecs: Date.now() - 3_600_000 });
    await sql`
      update records set id = ${id}::uuid, created_at = now() - interval '1 hour', updated_at = now() - interval '1 hour'`.execute(
      idle.db,
    );
    const { body: health } = await idle.api.get('/v1/admin/idempotency/health');
    expect(health).toMatchObject({ status: 'degraded', stuck: 1, reasons: [expect.stringMatching(/^1 are stuck/)] });
    expect(Date.parse(health.oldestUnfinishedAt)).toBeLessThan(Date.now() - 3_500_000);
    await idle.close();
  });
});
