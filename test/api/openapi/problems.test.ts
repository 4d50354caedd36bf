import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createApp } from '../../../src/api/app.ts';
import { type HttpServer, startHttpServer } from '../../../src/api/http-server.ts';
import { ensureApiKey } from '../../../src/store/api-keys.ts';
import { claimRecords, finishRecords } from '../../../src/store/records.ts';
import { type Answer, Api } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { startServiceOn, startTestService, type TestService } from '../../support/service.ts';
import { codesByRoute, type Step, stepsOf } from './documented-examples.ts';
import { standInParts } from './stand-in-parts.ts';

const document = inject('openApi');
const documented = codesByRoute(document);
/** One request of each route that needs a key. */
const steps = [...new Map(stepsOf(document).map((step) => [step.route, step])).values()].filter(
  ({ route }) => documented.get(route)?.has('UNAUTHENTICATED') && route !== 'GET /metrics',
);
const operationSteps = steps.filter(({ route }) => documented.get(route)?.has('OPERATION_FAILED'));

let service: TestService;

// Nobody works here: what is sent stays in flight for as long as a test wants.
beforeAll(async () => {
  service = await startTestService({ role: 'api', environment: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  await ensureApiKey(service.db, 'a-key-without-scopes', { client: 'default', scopes: [] });
});

afterAll(() => service.close());

/** Sends an example as it is, or with something else about it. The client holds the answer against the document. */
async function send(
  api: Api,
  step: Step,
  more: { body?: string; headers?: Record<string, string>; apiKey?: string } = {},
) {
  const { body = bodyOf(step), headers, apiKey } = more;
  const query = new URLSearchParams(step.query).toString();
  const options = { headers: { ...step.headers, ...headers }, apiKey };
  return await api.send(step.method, step.path + (query && `?${query}`), body, options);
}

/** Webhooks lead to this machine, where no name server is needed to tell that it exists. */
function bodyOf({ body, headers }: Step): string | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string' || headers['content-type'] !== 'application/json') return String(body);
  return JSON.stringify('url' in (body as object) ? { ...(body as object), url: 'http://127.0.0.1:9/' } : body);
}

const codeOf = ({ body }: Answer): string => body?.code;

/** The routes that say that they can give a code. */
const stepsWith = (code: string, among = steps) => among.filter(({ route }) => documented.get(route)?.has(code));

it.each(steps)('$route without a key, without the scope, or with a sub-client that is none, says so', async (step) => {
  expect(codeOf(await send(service.api, step, { apiKey: 'nobody' }))).toBe('UNAUTHENTICATED');
  expect(codeOf(await send(service.api, step, { apiKey: 'a-key-without-scopes' }))).toBe('FORBIDDEN');
  expect(codeOf(await send(service.api, step, { headers: { 'x-client-id': 'not one' } }))).toBe('INVALID_REQUEST');
});

const ofOneThing = steps.filter(
  ({ path, route }) => /[0-9a-f-]{36}/.test(path) && !documented.get(route)?.has('OPERATION_FAILED'),
);
it.each(ofOneThing)('$route of something that does not exist says so', async (step) => {
  expect(codeOf(await send(service.api, step))).toBe('NOT_FOUND');
});

it.each(stepsWith('UNSUPPORTED_MEDIA_TYPE'))('$route with a body of another type says so', async (step) => {
  const headers = { 'content-type': 'text/plain' };
  expect(codeOf(await send(service.api, step, { headers, body: 'x' }))).toBe('UNSUPPORTED_MEDIA_TYPE');
});

const ofJson = steps.filter(({ headers }) => headers['content-type'] === 'application/json');
it.each(stepsWith('TOO_LARGE', ofJson))('$route with a body that is too large says so', async (step) => {
  const body = JSON.stringify({ note: 'x'.repeat(300_000) });
  expect(codeOf(await send(service.api, step, { body }))).toBe('TOO_LARGE');
});

it.each(stepsWith('IDEMPOTENCY_KEY_INVALID'))('$route with a key that is none says so', async (step) => {
  const invalid = await send(service.api, step, { headers: { 'Idempotency-Key': '"' } });
  expect(codeOf(invalid)).toBe('IDEMPOTENCY_KEY_INVALID');
});

it.each(stepsWith('IDEMPOTENCY_KEY_REQUIRED'))('$route without the key that it needs says so', async (step) => {
  const { 'Idempotency-Key': _, ...headers } = step.headers;
  expect(codeOf(await send(service.api, { ...step, headers }))).toBe('IDEMPOTENCY_KEY_REQUIRED');
});

describe.each(operationSteps)('the operation of $route', (step) => {
  const codes = documented.get(step.route) ?? new Set();
  const withKey = (prefer: string) => ({ 'Idempotency-Key': key, prefer });
  let key = '';

  /** Ends the record of the key as a worker would that gave up, or that was cut off. */
  const settleAs = async (status: 'FAILED' | 'UNKNOWN') => {
    const record = await eventually(() =>
      service.db.selectFrom('records').selectAll().where('key', '=', key).executeTakeFirstOrThrow(),
    );
    await service.db.transaction().execute(async (tx) => {
      const [claimed] = await claimRecords(tx, [record.id], 'test');
      const nothing = {
        response_status: null,
        response_body: null,
        resource_type: null,
        resource_id: null,
        detail: null,
      };
      const error = { code: 'OPERATION_FAILED', message: 'It failed.' };
      const outcome = {
        id: record.id,
        epoch: claimed?.epoch ?? 0,
        status,
        error,
        events: [],
        ttl_seconds: 60,
        ...nothing,
      };
      await finishRecords(tx, [outcome], 'test');
    });
  };

  it('in flight, refuses a strict duplicate and another request', async () => {
    key = randomUUID();
    expect((await send(service.api, step, { headers: withKey('respond-async') })).status).toBe(202);
    expect(codeOf(await send(service.api, step, { headers: withKey('handling=strict') }))).toBe(
      'OPERATION_IN_PROGRESS',
    );
    const other = await send(service.api, step, { headers: withKey('respond-async'), body: otherBodyOf(step) });
    if (codes.has('INCONSISTENT_REQUEST')) expect(codeOf(other)).toBe('INCONSISTENT_REQUEST');
    else expect(other.headers['idempotency-mismatch']).toBe('true');
  });

  it.each([
    ['FAILED', 'OPERATION_FAILED'],
    ['UNKNOWN', 'OUTCOME_UNKNOWN'],
  ] as const)('that ends as %s says so', async (status, code) => {
    key = randomUUID();
    const [answer] = await Promise.all([send(service.api, step, { headers: withKey('wait=60') }), settleAs(status)]);
    expect(codeOf(answer)).toBe(code);
    expect(codes.has(code)).toBe(true);
  });
});

/** The same request with another value in one of its fields. */
function otherBodyOf(step: Step): string {
  const body = JSON.parse(bodyOf(step) ?? '{}') as Record<string, unknown>;
  const changes: Record<string, unknown> = { amount: 7, version: 7, owner: 'Somebody else', name: 'Somebody else' };
  const field = Object.keys(changes).find((name) => name in body);
  return JSON.stringify(
    field === undefined ? { ...body, events: ['mailing.completed'] } : { ...body, [field]: changes[field] },
  );
}

describe('where something is away or too much', () => {
  const servers: HttpServer[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.close())));

  /** The app on a database that answers every question with the same error. */
  const startBroken = async (error: Error): Promise<Api> => {
    const broken: unknown = new Proxy(() => broken, {
      get: (_, name) => (name === 'then' ? (_ok: unknown, fail: (error: Error) => void) => fail(error) : broken),
    });
    const parts = standInParts({ db: broken, log: pino({ level: 'silent' }) });
    const server = await startHttpServer(createApp(parts), { host: '127.0.0.1', port: 0 });
    servers.push(server);
    return new Api(server.url);
  };

  it.each([
    ['UNAVAILABLE', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })],
    ['INTERNAL', new Error('something nobody thought of')],
  ])('every route can answer %s', async (code, error) => {
    const api = await startBroken(error);
    for (const step of steps) {
      const answer = await send(api, step);
      expect([step.route, codeOf(answer)]).toEqual([step.route, code]);
      expect(answer.text).not.toContain(error.message);
    }
    await api.close();
  });

  it('every route can answer RATE_LIMITED', async () => {
    const { url = '', close } = await startServiceOn(service, {
      role: 'api',
      environment: { RATE_LIMIT_PER_MINUTE: '1' },
    });
    const api = new Api(url);
    await api.get('/v1/operations');
    for (const step of steps) {
      const answer = await send(api, step);
      expect([step.route, codeOf(answer)]).toEqual([step.route, 'RATE_LIMITED']);
    }
    await api.close();
    await close();
  });
});
