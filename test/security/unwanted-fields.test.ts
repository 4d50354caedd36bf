import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/api.ts';
import { mailingWith, newMailing, uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { bodyOf, listJsonRoutes, listLists, listRoutes, pathOf, type Route, valuesOf } from './described-routes.ts';
import { type Planted, plantingEnvironment, plantThings } from './planted-things.ts';
import { SafeApi } from './safe-answer.ts';
import { countRows } from './stored-rows.ts';

let service: TestService;
let api: SafeApi;
let planted: Planted;

beforeAll(async () => {
  service = await startTestService({ environment: plantingEnvironment });
  api = new SafeApi(service.api.url);
  planted = await plantThings(api);
});

afterAll(async () => {
  // The service runs in this process, so that this is its prototype too.
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  await api.close();
  await service.close();
});

const send = (route: Route, body: string): Promise<Answer> =>
  api.send(route.method, pathOf(route, valuesOf(route, planted)), body, { key: randomUUID() });

/** A good body with one thing more. The text is put in, because JavaScript would not write `__proto__`. */
const bodyWith = (route: Route, name: string, value: string): string =>
  JSON.stringify(bodyOf(route, planted))
    .replace(/^\{/, `{${JSON.stringify(name)}:${value},`)
    .replace(/,\}$/, '}');

function expectRefusedField(answer: Answer, field: string): void {
  expect({ status: answer.status, code: answer.body?.code }, answer.text).toEqual({
    status: 400,
    code: 'INVALID_REQUEST',
  });
  expect(answer.body.errors.map(({ path }: { path: string }) => path)).toContain(field);
}

/** What is ours to say and not the client's, as somebody would guess it. */
const internalFields = [
  'id',
  'client',
  'subClient',
  'sub_client',
  'status',
  'balance',
  'createdAt',
  'created_at',
  'kind',
];
const polluting: [string, string][] = [
  ['__proto__', '{"polluted":true}'],
  ['constructor', '{"prototype":{"polluted":true}}'],
  ['prototype', '{"polluted":true}'],
];

describe('a field that the client has no say in', () => {
  it.each(listJsonRoutes())('is refused, and nothing is stored: $name', async (route) => {
    const own = Object.keys((route.body?.properties ?? {}) as object);
    const before = await countRows(service.db);
    for (const field of [...internalFields, 'version', 'scopes', 'secret'].filter((name) => !own.includes(name))) {
      expectRefusedField(await send(route, bodyWith(route, field, '"1"')), field);
    }
    expect(await countRows(service.db)).toEqual(before);
  });

  it('is refused in each line of a bulk request', async () => {
    const before = await countRows(service.db);
    const routes = listJsonRoutes().filter(({ path }) => path.startsWith('/v1/operations/'));
    const lines = routes.flatMap((route) =>
      internalFields.map((field) => {
        const operation = route.path.slice('/v1/operations/'.length);
        return `{"operation":"${operation}","key":"${randomUUID()}","request":${bodyWith(route, field, '"1"')}}`;
      }),
    );
    const codes = await sendLines(lines);
    expect(codes).toEqual(lines.map(() => 'INVALID_REQUEST'));
    expect(await countRows(service.db)).toEqual(before);
  });

  it('is refused in a form and in a query of an upload', async () => {
    const before = await countRows(service.db);
    for (const field of [...internalFields, 'mailingId', '__proto__', 'constructor']) {
      const fields = Object.fromEntries([[field, '1']]);
      expectRefusedField(await uploadCsv(api, 'email\na@example.com\n', { fields }), field);
      expectRefusedField(await uploadCsv(api, 'email\na@example.com\n', { query: `${field}=1` }), field);
    }
    expect(await countRows(service.db)).toEqual(before);
  });

  it('changes nothing where no body is wanted', async () => {
    const routes = listRoutes().filter(
      ({ path, method, body }) => /^\/v1\/mailings\/\{id\}/.test(path) && method === 'POST' && !body,
    );
    expect(routes.length).toBeGreaterThan(4);
    const before = (await api.get(`/v1/mailings/${planted.mailing}`)).body;
    for (const route of routes) await send(route, JSON.stringify({ status: 'QUEUED', id: randomUUID(), subject: 'x' }));
    expect((await api.get(`/v1/mailings/${planted.mailing}`)).body).toEqual(before);
  });
});

describe('a name that reaches into the language', () => {
  it.each(listJsonRoutes())('is refused as any other, and nothing is stored: $name', async (route) => {
    const before = await countRows(service.db);
    for (const [name, value] of polluting) {
      expectRefusedField(await send(route, bodyWith(route, name, value)), name);
      // Deeper down, in each field that there is.
      for (const field of Object.keys(bodyOf(route, planted))) {
        const body = JSON.stringify({ ...bodyOf(route, planted), [field]: '?' }).replace('"?"', `{"${name}":${value}}`);
        expect((await send(route, body)).status).toBe(400);
      }
    }
    expect(await countRows(service.db)).toEqual(before);
  });

  it('is refused in a line of a bulk request, and as the name of an operation', async () => {
    const lines = polluting.flatMap(([name, value]) => [
      `{"${name}":${value},"operation":"customer.create","request":{"name":"A","email":"a@example.com"}}`,
      `{"operation":"customer.create","request":{"name":"A","email":"a@example.com","${name}":${value}}}`,
      `{"operation":"${name}","request":{}}`,
      `{"operation":"customer.create","request":${value.replace('polluted', '__proto__')}}`,
    ]);
    const codes = await sendLines(lines);
    expect(new Set(codes)).toEqual(new Set(['INVALID_REQUEST', 'NOT_FOUND']));
    for (const [name] of polluting) {
      expect((await api.post(`/v1/operations/${name}`, {}, { key: randomUUID() })).status).toBe(404);
    }
  });

  it.each(listLists())('is refused in the query of a list: $name', async (route) => {
    const path = pathOf(route, valuesOf(route, planted));
    for (const query of [
      '__proto__[polluted]=1',
      '__proto__.polluted=1',
      'constructor[prototype][polluted]=1',
      '__proto__=1',
    ]) {
      const answer = await api.get(`${path}?${query}`);
      expectRefusedField(answer, query.slice(0, query.lastIndexOf('=')));
    }
  });

  it('is a column of a file like any other, with the value of its cell', async () => {
    const columns = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const csv = `email,${columns.join(',')}\nada@example.com,${columns.map((name) => `cell of ${name}`).join(',')}\n`;
    const text = columns.map((name) => `{{${name}}}`).join('; ');
    const id = await newMailing(api, csv, { fields: { subject: 'Hello', text } });
    await mailingWith(api, id, 'COMPLETED');
    const preview = await api.get(`/v1/mailings/${id}/preview`);
    expect(preview.body.text).toContain(columns.map((name) => `cell of ${name}`).join('; '));
  });

  it.each([
    '__proto__',
    'constructor',
    'constructor.name',
    'toString',
    'cells',
    'this',
    'process.env.PATH',
    '__proto__.polluted',
  ])('is no field of a template if it is no column: {{%s}}', async (name) => {
    const answer = await uploadCsv(api, 'email\na@example.com\n', { fields: { subject: `{{${name}}}` } });
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: 'TEMPLATE_INVALID' });
  });

  it('does no harm as the name of a header, a sub-client, a key or a file', async () => {
    for (const name of ['__proto__', 'constructor']) {
      const headers = { [name]: 'polluted', 'x-client-id': name, 'x-request-id': name };
      const account = { owner: 'Ada', currency: 'EUR' };
      const answers = [1, 2].map(() => api.post('/v1/accounts', account, { key: name, headers }));
      const [first, second] = await Promise.all(answers);
      expect([first?.status, second?.status]).toEqual([201, 201]);
      expect(first?.body).toEqual(second?.body);
      expect((await uploadCsv(api, `email\n${name}@example.com\n`, { filename: name })).body.filename).toBe(name);
    }
  });
});

/** The code of each line's answer. */
async function sendLines(lines: readonly string[]): Promise<string[]> {
  const headers = { 'content-type': 'application/x-ndjson' };
  const answer = await api.send('POST', '/v1/operations/bulk', `${lines.join('\n')}\n`, { headers });
  return answer.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).code);
}
