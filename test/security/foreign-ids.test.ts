import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import type { Answer, CallOptions } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { bodyOf, listJsonRoutes, listLists, listRoutes, pathOf, type Route, valuesOf } from './described-routes.ts';
import { type Planted, plantingEnvironment, plantThings } from './planted-things.ts';
import { SafeApi } from './safe-answer.ts';

let service: TestService;
let api: SafeApi;
/** What belongs to the client whose things are wanted, and what belongs to the one who wants them. */
let foreign: Planted;
let own: Planted;
const stranger: CallOptions = { apiKey: 'the-key-of-another-client' };

beforeAll(async () => {
  service = await startTestService({ environment: plantingEnvironment });
  api = new SafeApi(service.api.url);
  await ensureApiKey(service.db, 'the-key-of-another-client', { client: 'other', scopes: ['operate'] });
  foreign = await plantThings(api);
  own = await plantThings(api, stranger);
});

afterAll(async () => {
  await api.close();
  await service.close();
});

const idRoutes = listRoutes().filter(({ pathParameters }) => pathParameters.length > 0);
const ofClients = idRoutes.filter(({ access }) => access === 'operate');

/** All that a caller sees of an answer, but for the id it named itself and what differs between any two answers. */
function visible(answer: Answer, named: string) {
  const { 'x-request-id': _id, date: _date, 'operation-id': operationId, ...headers } = answer.headers;
  const { 'idempotency-expires': expires, ...rest } = headers;
  const text = answer.text.replaceAll(named, '…').replaceAll(String(operationId ?? named), '…');
  return { status: answer.status, headers: { ...rest, expires: expires !== undefined }, text };
}

async function trySend(route: Route, path: string, body: unknown): Promise<Answer> {
  const text = route.body ? JSON.stringify(body) : undefined;
  return await api.send(route.method, path, text, { key: randomUUID(), ...stranger });
}

/** What the owner sees of everything it has. */
async function lookAtForeign(): Promise<string[]> {
  const readable = ofClients.filter(({ method, path }) => method === 'GET' && !path.endsWith('/events'));
  const answers = await Promise.all(readable.map((route) => api.get(pathOf(route, valuesOf(route, foreign)))));
  for (const [index, { status }] of answers.entries()) expect(status, readable[index]?.name).toBe(200);
  return answers.map(({ text }) => text);
}

describe('an id of another client', () => {
  it.each(ofClients)('is answered like one that does not exist by $name', async (route) => {
    const absent = { id: uuidv7(), email: `${randomUUID()}@example.com`, line: '2' };
    const theirs = valuesOf(route, foreign);
    const seen = await trySend(route, pathOf(route, theirs), bodyOf(route, own));
    const unseen = await trySend(route, pathOf(route, absent), bodyOf(route, own));
    expect({ status: seen.status, code: seen.body.code }, seen.text).toEqual({ status: 404, code: 'NOT_FOUND' });
    expect(visible(seen, theirs.id || 'nothing')).toEqual(visible(unseen, absent.id));
  });

  it('finds nothing out by a route for operators, which refuses before it looks', async () => {
    for (const route of idRoutes.filter(({ access }) => access === 'admin')) {
      const seen = await trySend(route, pathOf(route, { id: foreign.operation }), {});
      const unseen = await trySend(route, pathOf(route, { id: uuidv7() }), {});
      expect(seen.body.code, route.name).toBe('FORBIDDEN');
      expect(visible(seen, foreign.operation), route.name).toEqual(visible(unseen, 'none'));
    }
  });

  it('in the path of a public route is no token', async () => {
    for (const route of idRoutes.filter(({ access }) => access === 'public')) {
      expect(route.pathParameters, route.name).toEqual(['token']);
      for (const token of Object.values(foreign)) {
        expect((await api.send(route.method, pathOf(route, { token }))).status).toBe(404);
      }
    }
  });

  it('changes nothing, whatever is asked', async () => {
    await eventually(async () => expect(await lookAtForeign()).toEqual(await lookAtForeign()));
    const before = await lookAtForeign();
    for (const route of ofClients.filter(({ method }) => method !== 'GET')) {
      await trySend(route, pathOf(route, valuesOf(route, foreign)), bodyOf(route, own));
    }
    expect(await lookAtForeign()).toEqual(before);
  });
});

describe('an id of another client inside a request', () => {
  const fields = listJsonRoutes()
    .filter(({ access }) => access === 'operate')
    .flatMap((route) => uuidsOf(route).map((field) => ({ name: route.name, field, route })));

  it('is tried in every field that takes an id', () => {
    expect(fields.length).toBeGreaterThanOrEqual(9);
    expect(new Set(fields.map(({ field }) => field))).toEqual(
      new Set(['fromAccountId', 'toAccountId', 'customerId', 'proposalId']),
    );
  });

  it.each(fields)('is refused like one that does not exist: $field of $name', async ({ field, route }) => {
    const theirs = { fromAccountId: foreign.account, toAccountId: foreign.account, customerId: foreign.customer };
    const id = { ...theirs, proposalId: foreign.proposal }[field] ?? '';
    const absent = uuidv7();
    const seen = await trySend(route, route.path, { ...bodyOf(route, own), [field]: id });
    const unseen = await trySend(route, route.path, { ...bodyOf(route, own), [field]: absent });
    expect(['ACCOUNT_NOT_FOUND', 'CUSTOMER_NOT_FOUND', 'NOT_FOUND'], seen.text).toContain(seen.body.code);
    expect(visible(seen, id)).toEqual(visible(unseen, absent));
  });

  it('is refused in a line of a bulk request as well', async () => {
    const lines = [
      {
        operation: 'transfer.create',
        request: { fromAccountId: own.account, toAccountId: foreign.account, amount: 1 },
      },
      {
        operation: 'transfer.create',
        request: { fromAccountId: foreign.account, toAccountId: own.account, amount: 1 },
      },
      { operation: 'proposal.create', request: { customerId: foreign.customer, amount: 1 } },
    ].map((line) => JSON.stringify({ ...line, key: randomUUID() }));
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await api.send('POST', '/v1/operations/bulk', `${lines.join('\n')}\n`, { headers, ...stranger });
    const ids = answer.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).operationId as string);
    const codes = ids.map((id) =>
      eventually(async () => {
        const { body } = await api.get(`/v1/operations/${id}`, stranger);
        expect(body.status).toBe('REJECTED');
        return body.error.code;
      }),
    );
    expect(await Promise.all(codes)).toEqual(['ACCOUNT_NOT_FOUND', 'ACCOUNT_NOT_FOUND', 'CUSTOMER_NOT_FOUND']);
  });
});

describe('a list', () => {
  const lists = listLists().filter(({ access, pathParameters }) => access === 'operate' && pathParameters.length === 0);

  it.each(lists)('shows nothing of another client, whatever it is filtered by: $name', async (route) => {
    const theirs = Object.values(foreign);
    const cursors = theirs.map((id) => `cursor=${Buffer.from(id).toString('base64url')}`);
    const filters = route.query
      .filter(({ schema }) => schema.format === 'uuid')
      .map(({ name }) => `${name}=${foreign.customer}`);
    for (const query of ['', 'limit=200', ...cursors, ...filters]) {
      const { status, body } = await api.get(`${route.path}?${query}`, stranger);
      const items: Record<string, string>[] = status === 200 ? body.items : [];
      expect(items.filter(({ id = '', email = '' }) => theirs.includes(id) || theirs.includes(email))).toEqual([]);
    }
  });
});

/** The fields of a body that hold an id. */
function uuidsOf({ body }: Route): string[] {
  const properties = (body?.properties ?? {}) as Record<string, { format?: string }>;
  return Object.entries(properties).flatMap(([name, { format }]) => (format === 'uuid' ? [name] : []));
}
