import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { Api } from '../support/api.ts';
import { openTestStores, startServiceOn, type TestStores } from '../support/service.ts';

/** What anybody may see. Whatever is not listed here must refuse those who bring no credentials. */
const publicRoutes = [
  'GET /health',
  'GET /health/live',
  'GET /health/ready',
  'GET /v/:token',
  'GET /u/:token',
  'POST /u/:token',
  'GET /openapi.json',
  'GET /docs',
];
/** What a key of scope `operate` may use; everything else that is not public is for operators. */
const operateRoute = /^[A-Z]+ \/v1\/(?!admin\b)/;

let stores: TestStores;
let service: Awaited<ReturnType<typeof startServiceOn>>;
let api: Api;
const operateKey = 'test-key-that-may-only-operate';

beforeAll(async () => {
  stores = await openTestStores({ SEMEL_ADMIN_PASSWORD: 'a-password-for-the-board' });
  service = await startServiceOn(stores);
  api = new Api(service.url ?? '');
  await ensureApiKey(stores.db, operateKey, { client: 'default', scopes: ['operate'] });
});

afterAll(async () => {
  await api.close();
  await service.close();
  await stores.close();
});

/** Each route of the app, as `METHOD /path`. What takes every method is tried with two. */
function listRoutes(): string[] {
  const routes = service.routes.flatMap(({ method, path }) =>
    method === 'ALL' ? [`GET ${path}`, `POST ${path}`] : [`${method} ${path}`],
  );
  return [...new Set(routes)].filter((route) => !publicRoutes.includes(route));
}

function pathOf(route: string): string {
  const [, path = ''] = route.split(' ');
  return path.replace(/:\w+(\{[^}]*\})?\??/g, randomUUID()).replaceAll('*', 'anything');
}

async function trySend(route: string, headers: Record<string, string>) {
  const [method = ''] = route.split(' ');
  const body = method === 'GET' || method === 'HEAD' ? undefined : '{}';
  // As a proxy would: some routes are open to this machine itself, and this one comes from elsewhere.
  return await api.send(method, pathOf(route), body, { headers: { 'x-forwarded-for': '192.0.2.1', ...headers } });
}

/** Middleware for all paths is in the list too; a path that nothing answers has nothing to hide. */
const isCatchAll = (route: string) => / \/\*$/.test(route);

describe('every route', () => {
  it('is in the list that is tried, also those of operators', () => {
    const routes = listRoutes();
    expect(routes.length).toBeGreaterThan(40);
    for (const path of ['idempotency/health', 'dead-letters/retry', 'api-keys/:id', 'actions']) {
      expect(routes.some((route) => route.endsWith(`/v1/admin/${path}`))).toBe(true);
    }
  });

  // Whoever guesses passwords is slowed down.
  it.each([
    ['nothing', {}, [401]],
    ['a key that nobody has', { authorization: 'Bearer nobody' }, [401]],
    ['a wrong password', { authorization: `Basic ${Buffer.from('admin:wrong').toString('base64')}` }, [401, 429]],
  ])('that is not public refuses who brings %s', async (_, headers, refusals) => {
    const answered = [];
    for (const route of listRoutes()) {
      const { status } = await trySend(route, { authorization: '', ...headers });
      if (!(isCatchAll(route) ? [404] : refusals).includes(status)) answered.push(`${route}: ${status}`);
    }
    expect(answered).toEqual([]);
  });

  it('of operators refuses a key that may only operate', async () => {
    const answered = [];
    for (const route of listRoutes().filter((route) => !operateRoute.test(route) && !isCatchAll(route))) {
      const { status } = await trySend(route, { authorization: `Bearer ${operateKey}` });
      if (![401, 403].includes(status)) answered.push(`${route}: ${status}`);
    }
    expect(answered).toEqual([]);
  });

  it('of operators that does not exist says nothing either', async () => {
    const path = '/v1/admin/nothing-here';
    expect((await api.get(path, { headers: { authorization: '' } })).status).toBe(401);
    expect((await api.get(path, { apiKey: operateKey })).body.code).toBe('FORBIDDEN');
    expect((await api.get(path)).body.code).toBe('NOT_FOUND');
  });
});
