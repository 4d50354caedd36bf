import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../../src/processors/define-operation.ts';
import { succeeded } from '../../../src/processors/outcomes.ts';
import { operations } from '../../../src/processors/registry.ts';
import { ensureApiKey } from '../../../src/store/api-keys.ts';
import { allSettled, judge } from '../../support/judge.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let isBroken = true;
/** How often each request had its effect. */
const effects = new Map<string, number>();

const create = (name: string) =>
  defineOperation({
    name,
    request: z.strictObject({ id: z.string() }),
    key: { required: true, pattern: printableKey },
    onMismatch: 'reject',
    replay: 'stored',
    process: async ({ id }) => {
      if (isBroken) throw new Error('the disk is full');
      effects.set(id, (effects.get(id) ?? 0) + 1);
      return succeeded(200, { id });
    },
  });

beforeAll(async () => {
  service = await startTestService({
    operations: [...operations, create('test.one'), create('test.two')],
    environment: { RETRY_DELAYS_MS: '1', WAIT_SECONDS: '30' },
  });
  await ensureApiKey(service.db, 'key-of-another-client', { client: 'another', scopes: ['operate'] });
});

afterAll(() => service.close());

const letters = '/v1/admin/dead-letters';
const list = async (query = '') => (await service.api.get(`${letters}?${query}`)).body.items;

/** Runs operations that give up, and returns their ids. */
async function fail(operation: string, count: number, apiKey?: string): Promise<string[]> {
  isBroken = true;
  const send = async () => {
    const key = randomUUID();
    const answer = await service.api.post(`/v1/operations/${operation}`, { id: key }, { key, apiKey });
    expect(answer.body.code).toBe('OPERATION_FAILED');
    return answer.body.operationId as string;
  };
  const ids = await Promise.all(Array.from({ length: count }, send));
  isBroken = false;
  return ids;
}

async function removeAll(): Promise<void> {
  await sql`delete from dead_letters`.execute(service.db);
}

const idsOf = (items: { operationId: string }[]) => items.map((item) => item.operationId).sort();

describe('the list', () => {
  it('can be narrowed by operation, client, code and time, and is paged without a gap or a repeat', async () => {
    await removeAll();
    const ones = await fail('test.one', 5);
    const twos = await fail('test.two', 2, 'key-of-another-client');
    expect(idsOf(await list())).toEqual([...ones, ...twos].sort());
    expect(idsOf(await list('operation=test.one'))).toEqual(ones.sort());
    expect(await list('client=another')).toMatchObject([
      {
        client: 'another',
        operation: 'test.two',
        attempts: 2,
        error: { message: 'the disk is full' },
        retryable: true,
      },
      { client: 'another', effect: 'not_applied', currentStatus: 'FAILED' },
    ]);
    expect(idsOf(await list('client=another&operation=test.one'))).toEqual([]);
    expect(await list('code=OPERATION_FAILED')).toHaveLength(7);
    expect(await list('code=MAIL_FAILED')).toEqual([]);
    const [newest, next] = await list();
    expect(await list(`since=${newest.createdAt}&operation=${newest.operation}`)).not.toEqual([]);
    expect(await list('since=2100-01-01T00:00:00Z')).toEqual([]);
    expect(await list('until=2020-01-01T00:00:00%2B02:00')).toEqual([]);

    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await service.api.get(`${letters}?limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.items.map((item: { id: string }) => item.id));
      cursor = body.nextCursor ?? '';
    } while (cursor !== '');
    expect(seen).toHaveLength(7);
    expect(new Set(seen).size).toBe(7);
    expect(seen.slice(0, 2)).toEqual([newest.id, next.id]);
    expect((await service.api.get(`${letters}/${newest.id}`)).body).toEqual(newest);
  });

  it('pages through letters of the same moment', async () => {
    await removeAll();
    await fail('test.one', 5);
    await sql`update dead_letters set created_at = now(), id = gen_random_uuid()`.execute(service.db);
    const first = (await service.api.get(`${letters}?limit=2`)).body;
    const second = (await service.api.get(`${letters}?limit=3&cursor=${first.nextCursor}`)).body;
    expect(idsOf([...first.items, ...second.items])).toHaveLength(5);
    expect(new Set([...first.items, ...second.items].map((item: { id: string }) => item.id)).size).toBe(5);
    expect(second.nextCursor).toBeNull();
  });

  it.each(['since=yesterday', 'mailing=x', 'limit=0', 'cursor=eHg', 'what=ever', 'operation=', 'client=%00'])(
    'refuses %s',
    async (query) => {
      expect((await service.api.get(`${letters}?${query}`)).body.code).toBe('INVALID_REQUEST');
    },
  );
});

describe('a retry', () => {
  it('of one runs it again, once, and takes it off the list', async () => {
    await removeAll();
    const [id] = await fail('test.one', 1);
    const [letter] = await list();
    const answers = await Promise.all([1, 2, 3].map(() => service.api.send('POST', `${letters}/${letter.id}/retry`)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses[0]).toBe(202);
    expect(statuses.slice(1).every((status) => status === 404 || status === 409)).toBe(true);
    await allSettled(service.db);
    const record = (await service.api.get(`/v1/admin/idempotency/records/${id}`)).body;
    expect(record).toMatchObject({ status: 'SUCCEEDED', generation: 2 });
    expect(record.audit.filter((row: { actor: string }) => row.actor.startsWith('admin:default:'))).toHaveLength(1);
    expect(effects.get(record.key)).toBe(1);
    expect(await list()).toEqual([]);
    expect((await service.api.send('POST', `${letters}/${letter.id}/retry`)).status).toBe(404);
    await judge(service.db);
  });

  it('of one whose record moved on is refused', async () => {
    await removeAll();
    const [id = ''] = await fail('test.one', 1);
    const [letter] = await list();
    // As it was before dead letters went away with their reason.
    await sql`update dead_letters set generation = 7`.execute(service.db);
    const refused = await service.api.send('POST', `${letters}/${letter.id}/retry`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'INVALID_STATE' } });
    expect((await service.api.get(`/v1/operations/${id}`)).body.status).toBe('FAILED');
  });

  it('a client that sends its key again takes its dead letter off the list', async () => {
    await removeAll();
    const [id] = await fail('test.one', 1);
    const { key } = (await list())[0];
    expect((await service.api.post('/v1/operations/test.one', { id: key }, { key })).status).toBe(200);
    expect(await list()).toEqual([]);
    expect((await service.api.get(`/v1/operations/${id}`)).body.status).toBe('SUCCEEDED');
  });
});

describe('a retry of many', () => {
  const retry = (body: unknown) => service.api.post(`${letters}/retry`, body);

  it('says first what would run and which effects happened already, and changes nothing', async () => {
    await removeAll();
    await fail('test.one', 3);
    const [done = ''] = await fail('test.two', 1);
    // Its record succeeded since, and the dead letter is still there.
    const [letter] = await list('operation=test.two');
    await service.api.post('/v1/operations/test.two', { id: letter.key }, { key: letter.key });
    await sql`
      insert into dead_letters (id, record_id, client, sub_client, operation, key, generation, attempts, error)
      values (gen_random_uuid(), ${done}::uuid, 'default', '', 'test.two', ${letter.key}, 1, 2,
        '{"code": "OPERATION_FAILED", "message": "old"}')`.execute(service.db);
    const { body } = await retry({ filter: {}, dryRun: true });
    expect(body).toMatchObject({
      dryRun: true,
      matching: 4,
      wouldRun: 3,
      effects: { applied: 1, not_applied: 3, unknown: 0 },
      byOperation: [
        { operation: 'test.one', effect: 'not_applied', wouldRun: true, count: 3 },
        { operation: 'test.two', effect: 'applied', wouldRun: false, count: 1 },
      ],
    });
    expect(body.items).toHaveLength(4);
    expect(await list()).toHaveLength(4);

    const before = effects.get(letter.key);
    expect((await retry({ filter: {} })).body).toEqual({ dryRun: false, retried: 3, remaining: 0 });
    await allSettled(service.db);
    expect(effects.get(letter.key)).toBe(before);
    expect(idsOf(await list())).toEqual([done]);
  });

  it('works in bounded steps, only on what matches, and each runs once', async () => {
    await removeAll();
    const wanted = await fail('test.one', 130);
    const others = await fail('test.two', 3);
    const filter = { operation: 'test.one' };
    expect((await retry({ filter, limit: 20 })).body).toEqual({ dryRun: false, retried: 20, remaining: 110 });
    // Two operators at once do not run anything twice.
    const both = await Promise.all([retry({ filter }), retry({ filter })]);
    expect(both.reduce((sum, { body }) => sum + body.retried, 0)).toBe(110);
    await allSettled(service.db);
    expect(idsOf(await list())).toEqual(others.sort());
    const rows = await service.db.selectFrom('records').selectAll().where('id', 'in', wanted).execute();
    expect(rows.every((row) => row.status === 'SUCCEEDED' && row.generation === 2)).toBe(true);
    expect(rows.map((row) => effects.get(row.key ?? ''))).toEqual(rows.map(() => 1));
    const [action] = (await service.api.get('/v1/admin/actions')).body.items;
    expect(action).toMatchObject({ action: 'dead-letters.retry', detail: { filter } });
    await judge(service.db);
  });

  it.each([[{}], [{ filter: { status: 'FAILED' } }], [{ filter: {}, limit: 0 }], [{ filter: {}, limit: 1_001 }]])(
    'refuses %j',
    async (body) => {
      expect((await retry(body)).body.code).toBe('INVALID_REQUEST');
    },
  );
});

describe('a discard', () => {
  it('needs a reason, and leaves a trace of who gave up what', async () => {
    await removeAll();
    const [id] = await fail('test.one', 2);
    const [first, second] = await list();
    expect((await service.api.send('DELETE', `${letters}/${first.id}`)).body.code).toBe('INVALID_REQUEST');
    expect((await service.api.send('DELETE', `${letters}/${first.id}?reason=`)).status).toBe(400);
    expect((await service.api.send('DELETE', `${letters}/${first.id}`, '{"reason": 1}')).status).toBe(400);
    expect(await list()).toHaveLength(2);
    expect((await service.api.send('DELETE', `${letters}/${first.id}?reason=not+needed`)).status).toBe(204);
    const body = JSON.stringify({ reason: 'the shop is closed' });
    expect((await service.api.send('DELETE', `${letters}/${second.id}`, body)).status).toBe(204);
    expect((await service.api.send('DELETE', `${letters}/${second.id}`, body)).status).toBe(404);
    const [last, before] = (await service.api.get('/v1/admin/actions')).body.items;
    expect(last).toMatchObject({ action: 'dead-letter.discard', subject: second.id });
    expect(last.actor).toMatch(/^admin:default:[0-9a-f-]{36}$/);
    expect(last.detail).toMatchObject({ reason: 'the shop is closed', operationId: second.operationId });
    expect(before.detail).toMatchObject({ reason: 'not needed', error: { message: 'the disk is full' } });
    expect((await service.api.get(`/v1/operations/${id}`)).body.status).toBe('FAILED');
  });
});
