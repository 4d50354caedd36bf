import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { listLists, listRoutes, pathOf, type Route, valuesOf } from './described-routes.ts';
import { type Planted, plantingEnvironment, plantThings } from './planted-things.ts';
import { expectSafe, SafeApi } from './safe-answer.ts';
import { countRows } from './stored-rows.ts';

let service: TestService;
let api: SafeApi;
let planted: Planted;
let before: Record<string, number>;

beforeAll(async () => {
  service = await startTestService({ environment: plantingEnvironment });
  api = new SafeApi(service.api.url);
  planted = await plantThings(api);
  // So that each list has something to show too much of.
  await plantThings(api);
  before = await countRows(service.db);
});

afterAll(async () => {
  await api.close();
  await service.close();
});

/** Each means something to Postgres if it is put into a statement, and nothing if it is a value. */
const statements = [
  "' or '1'='1",
  "'; drop table records; --",
  "' union select digest::text from api_keys --",
  '1; select pg_sleep(5)',
  "') or 1=1 --",
  '" or ""="',
  '1 or 1=1',
  "\\'; select 1; --",
  '$1',
  '$$; select 1; $$',
  '%',
  '_',
  '*',
  'id desc, (select 1)',
  'null',
  "admin'/*",
  '\u0000',
  "' \u0000 or 1=1 --",
  'ʼ or 1=1',
];
const base64url = (text: string) => Buffer.from(text).toString('base64url');

/** A value that a filter takes can only find what has that value: here, nothing. */
async function expectNoRows(route: Route, name: string, value: string): Promise<void> {
  const target = `${pathOf(route, valuesOf(route, planted))}?${name}=${encodeURIComponent(value)}`;
  const answer = await api.get(target);
  if (answer.status === 200) expect(answer.body.items, target).toEqual([]);
  else expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: 'INVALID_REQUEST' });
}

const lists = listLists();

describe('a statement instead of a value', () => {
  it.each(lists)('finds nothing and breaks nothing in any parameter of $name', async (route) => {
    for (const { name } of route.query) {
      // Of a list that is sorted by a text, a cursor may be any text; it still only says where to go on.
      const isPlace = name === 'cursor' && route.path === '/v1/suppressions';
      const values = name === 'cursor' ? [...statements, ...statements.map(base64url)] : statements;
      await Promise.all((isPlace ? [] : values).map((value) => expectNoRows(route, name, value)));
    }
  });

  it('as the cursor of a list by address goes on where that text would stand, and shows no more', async () => {
    const all: { email: string }[] = (await api.get('/v1/suppressions')).body.items;
    expect(all.length).toBeGreaterThan(1);
    for (const text of statements) {
      const answer = await api.get(`/v1/suppressions?cursor=${base64url(text)}`);
      if (answer.status === 200) expect(all).toEqual(expect.arrayContaining(answer.body.items));
      else expect(answer.body.errors[0].path).toBe('cursor');
      expect(answer.status, JSON.stringify(text)).toBe(text.includes('\0') ? 400 : 200);
    }
  });

  it.each(lists)('is no way to sort, page or choose columns that $name does not have', async (route) => {
    const path = pathOf(route, valuesOf(route, planted));
    for (const name of ['sort', 'order', 'orderBy', 'offset', 'where', 'fields', 'q', 'filter', "id' or '1'='1"]) {
      const answer = await api.get(`${path}?${new URLSearchParams({ [name]: '1; drop table records' })}`);
      expect({ status: answer.status, path: answer.body.errors?.[0]?.path }).toEqual({ status: 400, path: name });
    }
  });

  it.each(listRoutes().filter(({ query }) => query.length > 0))(
    'in any other query is refused: $name',
    async (route) => {
      if (lists.some(({ name }) => name === route.name)) return;
      const path = pathOf(route, valuesOf(route, planted));
      for (const { name } of route.query.filter((each) => each.name !== 'filename')) {
        for (const value of statements) {
          const answer = await api.send(route.method, `${path}?${name}=${encodeURIComponent(value)}`);
          expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
        }
      }
    },
  );

  const withPath = listRoutes().filter(({ pathParameters }) => pathParameters.length > 0);

  it.each(withPath)('in a path is an id that does not exist: $name', async (route) => {
    for (const parameter of route.pathParameters) {
      const tries = statements.map(async (value) => {
        const path = pathOf(route, { ...valuesOf(route, planted), [parameter]: value });
        const answer = await api.send(route.method, path, route.body && '{}', { key: 'a-key-of-this-test' });
        expect([400, 404], `${path}: ${answer.text}`).toContain(answer.status);
      });
      await Promise.all(tries);
    }
  });

  it('has changed nothing after all this', async () => {
    expect(await countRows(service.db)).toEqual(before);
  });

  it('is kept as the text that it is, where texts are kept', async () => {
    const storable = statements.filter((text) => !text.includes('\0'));
    for (const [index, text] of storable.entries()) {
      // The key is a text of the client's as well, of printable ASCII.
      const key = `key ${text.replaceAll(/[^\x20-\x7e]/g, '')} ${index}`;
      const made = await api.post('/v1/accounts', { owner: text, currency: 'EUR' }, { key });
      expect(made.body.owner).toBe(text);
      expectSafe(await uploadCsv(api, `email\n${text}\n`, { filename: text.replaceAll(/[/\\]/g, '') }));
    }
    const { rows } = await sql<{ owners: string[] }>`
      select array_agg(owner order by id) as owners from accounts where kind = 'customer' and owner = any (${storable})`.execute(
      service.db,
    );
    expect(rows[0]?.owners).toEqual(storable);
  });
});
