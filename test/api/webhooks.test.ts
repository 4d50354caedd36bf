import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as appModule from '../../src/api/app.ts';
import { readConfig } from '../../src/config.ts';
import { createOperationHost } from '../../src/queues/webhooks/operation-host.ts';
import { createWebhookPump } from '../../src/queues/webhooks/pump.ts';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { Receiver, verify } from '../queues/webhooks/receiver.ts';
import type { CallOptions } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';

/** What the names in these tests resolve to. */
const names = new Map<string, string[]>();

// The real service, but with a name server of the test's own.
vi.mock('../../src/api/app.ts', async (importOriginal) => {
  const original = await importOriginal<typeof appModule>();
  const createApp: typeof original.createApp = (parts) => original.createApp({ ...parts, operationHost });
  return { createApp };
});

const environment = {
  WAIT_SECONDS: '30',
  SEMEL_SECRET_KEY: 'a-key-for-tests-of-at-least-32-characters',
  WEBHOOK_ALLOW_PRIVATE: 'true',
};
const stores = { DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost' };
const resolve = async (host: string) => (names.get(host) ?? []).map((address) => ({ address, family: 4 }));
const strict = readConfig({ ...stores, ...environment, WEBHOOK_ALLOW_PRIVATE: 'false' });
const strictHost = createOperationHost(strict, { resolve });
const looseHost = createOperationHost(readConfig({ ...stores, ...environment }));
const operationHost = {
  ...strictHost,
  /** The receivers of these tests are on this machine; everything else is checked as in earnest. */
  checkWebhookUrl: async (url: string) =>
    await (url.startsWith(receiver.url) ? looseHost : strictHost).checkWebhookUrl(url),
};

let service: TestService;
let receiver: Receiver;
const stranger: CallOptions = { apiKey: 'the-key-of-another-client' };
const events = ['transfer.completed'];

beforeAll(async () => {
  receiver = await new Receiver().listen();
  service = await startTestService({ environment });
  await ensureApiKey(service.db, 'the-key-of-another-client', { client: 'other', scopes: ['operate'] });
});

afterAll(async () => {
  await service.close();
  await receiver.close();
});

const register = (body: unknown, options?: CallOptions) => service.api.post('/v1/webhooks', body, options);
const runPump = async () => {
  const config = readConfig(service.environment);
  const hitFailpoint = () => undefined;
  await createWebhookPump({ db: service.db, log: pino({ level: 'silent' }), config, hitFailpoint }).runOnce();
};

describe('a webhook', () => {
  it('is registered once for its key, and the replay shows the same secret', async () => {
    const request = { url: receiver.url, events };
    const key = 'w';
    const [first, second] = [await register(request, { key }), await register(request, { key })];
    const id = first.headers['operation-id'];
    expect([first.status, first.body]).toEqual([201, { id, ...request, secret: expect.stringMatching(/^whsec_/) }]);
    expect(Buffer.from(first.body.secret.slice(6), 'base64')).toHaveLength(32);
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers['idempotent-replayed']).toBe('true');
    const other = await register({ ...request, events: ['operation.failed'] }, { key });
    expectProblem(other, 422, 'INCONSISTENT_REQUEST');
    expect(other.body.differingFields).toEqual(['events']);
    const operation = await service.api.get(`/v1/operations/${id}`);
    expect(operation.body).toMatchObject({ resource: { type: 'webhook', href: `/v1/webhooks/${id}` } });
  });

  it('without a key is a new one each time, also by the name of the operation', async () => {
    const request = { url: receiver.url, events };
    const answers = [await register(request), await service.api.post('/v1/operations/webhook.register', request)];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(new Set(answers.flatMap(({ body }) => [body.id, body.secret])).size).toBe(4);
  });

  it('shows its secret in no other answer, and no store has it', async () => {
    const { body } = await register({ url: receiver.url, events }, { key: randomUUID() });
    const secret = body.secret.slice(6);
    const { secret: _, ...shown } = body;
    const paths = [`/v1/webhooks/${body.id}`, '/v1/webhooks', `/v1/operations/${body.id}`];
    for (const path of paths) expect((await service.api.get(path)).text).not.toContain(secret);
    expect((await service.api.get(`/v1/webhooks/${body.id}`)).body).toEqual({
      ...shown,
      ...{ status: 'ENABLED', disabledAt: null, disabledReason: null, createdAt: expect.any(String) },
    });
    const { rows } = await sql<{ text: string }>`
      select r::text as text from records r union all select w::text from webhooks w
      union all select a::text from audit a union all select o::text from outbox o`.execute(service.db);
    expect(rows.filter(({ text }) => text.includes(body.id)).length).toBeGreaterThan(2);
    expect(rows.filter(({ text }) => text.includes(secret))).toEqual([]);
  });

  it('is listed newest first, page by page', async () => {
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await register({ url: receiver.url, events })).body.id);
    const first = (await service.api.get('/v1/webhooks?limit=2')).body;
    const second = (await service.api.get(`/v1/webhooks?limit=1&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids);
    expectProblem(await service.api.get('/v1/webhooks?limit=0'), 400, 'INVALID_REQUEST');
  });

  it('that is deleted is gone, with its deliveries', async () => {
    const { id } = (await register({ url: receiver.url, events })).body;
    await service.api.send('POST', `/v1/webhooks/${id}/test`);
    const deleted = await service.api.send('DELETE', `/v1/webhooks/${id}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const path of ['', '/deliveries']) {
      expectProblem(await service.api.get(`/v1/webhooks/${id}${path}`), 404, 'NOT_FOUND');
    }
    expectProblem(await service.api.send('DELETE', `/v1/webhooks/${id}`), 404, 'NOT_FOUND');
    const left = await service.db.selectFrom('webhook_deliveries').where('webhook_id', '=', id).selectAll().execute();
    expect(left).toEqual([]);
  });
});

describe('a test ping', () => {
  it('reaches only its webhook, signed, and is seen among the deliveries', async () => {
    const { id, secret } = (await register({ url: `${receiver.url}/ping`, events: ['operation.failed'] })).body;
    const answer = await service.api.send('POST', `/v1/webhooks/${id}/test`);
    expect([answer.status, answer.body]).toEqual([202, { eventId: expect.any(String) }]);
    await runPump();
    const request = await eventually(() => {
      const found = receiver.received.filter(({ headers }) => headers['webhook-id'] === answer.body.eventId);
      expect(found).toHaveLength(1);
      return found[0] ?? expect.fail();
    });
    expect(request.path).toBe('/hook/ping');
    expect(verify(secret, request)).toMatchObject({ type: 'webhook.test', data: { webhookId: id } });
    await eventually(async () =>
      expect((await service.api.get(`/v1/webhooks/${id}/deliveries`)).body).toEqual({
        items: [
          {
            id: expect.any(String),
            ...{ eventId: answer.body.eventId, type: 'webhook.test', status: 'DELIVERED', attempts: 1 },
            ...{ lastStatus: 204, lastError: null, nextAttemptAt: null },
            ...{ createdAt: expect.any(String), deliveredAt: expect.any(String) },
          },
        ],
        nextCursor: null,
      }),
    );
  });

  it('of a disabled webhook is refused', async () => {
    const { id } = (await register({ url: receiver.url, events })).body;
    const disabled = { disabled_at: new Date(), disabled_reason: 'It answered 410.' };
    await service.db.updateTable('webhooks').set(disabled).where('id', '=', id).execute();
    expectProblem(await service.api.send('POST', `/v1/webhooks/${id}/test`), 409, 'INVALID_STATE');
    const shown = (await service.api.get(`/v1/webhooks/${id}`)).body;
    expect(shown).toMatchObject({ status: 'DISABLED', disabledReason: 'It answered 410.' });
  });
});

describe('a rotation', () => {
  it('gives a new secret, and both sign what is sent afterwards', async () => {
    const { id, secret } = (await register({ url: receiver.url, events })).body;
    const rotated = await service.api.send('POST', `/v1/webhooks/${id}/rotate-secret`);
    expect([rotated.status, rotated.body]).toEqual([200, { secret: expect.stringMatching(/^whsec_/) }]);
    expect(rotated.body.secret).not.toBe(secret);
    const { eventId } = (await service.api.send('POST', `/v1/webhooks/${id}/test`)).body;
    await runPump();
    await eventually(() => {
      const request = receiver.received.find(({ headers }) => headers['webhook-id'] === eventId) ?? expect.fail();
      verify(secret, request);
      verify(rotated.body.secret, request);
    });
  });
});

describe('a registration that is refused', () => {
  const url = 'https://hooks.example/in';
  it.each([
    ...[{}, [], null, { url }, { events }, { url, events, secret: 'x' }],
    ...['', 'hooks.example', 'ftp://hooks.example/', 'file:///etc/passwd', 'javascript:alert(1)', 'http://'].map(
      (bad) => ({
        url: bad,
        events,
      }),
    ),
    ...['https://user:pass@hooks.example/', `${url}#part`, ` ${url}`, `${url}\n`, `${url}?${'x'.repeat(2_048)}`].map(
      (bad) => ({ url: bad, events }),
    ),
    ...[[], ['transfer'], ['webhook.test'], [...events, ...events], 'transfer.completed', [7]].map((bad) => ({
      url,
      events: bad,
    })),
  ])('for its form leaves nothing: %j', async (body) => {
    const before = await countStored(service.db);
    expectProblem(await register(body, { key: randomUUID() }), 400, 'INVALID_REQUEST');
    expect(await countStored(service.db)).toEqual(before);
  });

  it.each([
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '017700000001', '0', '10.1.2.3', '172.16.0.1', '192.168.1.1'],
    ...['169.254.169.254', '100.64.0.1', '224.0.0.1', '255.255.255.255', '[::1]', '[::]', '[fe80::1]', '[fd00::1]'],
    ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::10.0.0.1]', '[2002:7f00:1::]', '[ff02::1]'],
    ...['inside.example', 'both.example', 'nowhere.example', 'outside.example:25'],
  ])('for its target leaves nothing, and the key stays free: %s', async (host) => {
    names.set('inside.example', ['10.0.0.7']).set('both.example', ['93.184.216.34', '127.0.0.1']);
    names.set('outside.example', ['93.184.216.34']);
    const before = await countStored(service.db);
    const key = randomUUID();
    const answer = await register({ url: `http://${host}/hook`, events }, { key });
    expectProblem(answer, 422, 'WEBHOOK_URL_REFUSED');
    expect(answer.body.effect).toBe('not_applied');
    expect(answer.text).not.toContain('10.0.0.7');
    expect(await countStored(service.db)).toEqual(before);
    expect((await register({ url: 'https://outside.example/hook', events }, { key })).status).toBe(201);
  });

  it('now is still answered as before, if it was taken before', async () => {
    names.set('moves.example', ['93.184.216.34']);
    const body = { events, url: 'https://moves.example/hook' };
    const key = randomUUID();
    const first = await register(body, { key });
    names.set('moves.example', ['127.0.0.1']);
    const replay = await register({ url: body.url, events }, { key });
    expect([first.status, replay.status, replay.text]).toEqual([201, 201, first.text]);
    expectProblem(await register(body), 422, 'WEBHOOK_URL_REFUSED');
  });
});

it('a webhook of another client is like one that does not exist', async () => {
  const { id } = (await register({ url: receiver.url, events })).body;
  const paths = (target: string) =>
    [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/test'],
      ['POST', '/rotate-secret'],
    ].map(([method = '', path]) => ({ method, path: `/v1/webhooks/${target}${path}` }));
  for (const [index, { method, path }] of paths(id).entries()) {
    const foreign = await service.api.send(method, path, undefined, stranger);
    const absent = await service.api.send(method, paths(uuidv7())[index]?.path ?? '', undefined, stranger);
    expectProblem(foreign, 404, 'NOT_FOUND');
    expect(foreign.text).toBe(absent.text);
  }
  expect((await service.api.get('/v1/webhooks', stranger)).body.items).toEqual([]);
  expect((await service.api.get(`/v1/webhooks/${id}`)).status).toBe(200);
});
