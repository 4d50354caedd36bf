import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, ensureApiKey } from '../../src/store/api-keys.ts';
import { Api, testApiKey } from '../support/api.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';
import { countStored, expectProblem } from './expectations.ts';
import { sendRaw } from './raw-request.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const account = { owner: 'Ada', currency: 'EUR' };

describe('the API key', () => {
  it('a request without one is refused', async () => {
    const bytes = Buffer.from('GET /v1/operations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    const answer = await sendRaw(service.api.url, bytes);
    expectProblem(answer, 401, 'UNAUTHENTICATED');
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  it.each([
    ['a wrong key', 'Bearer some-key-that-nobody-has'],
    ['no key', 'Bearer'],
    ['an empty header', ''],
    ['another scheme', `Basic ${Buffer.from(`default:${testApiKey}`).toString('base64')}`],
    ['a key without scheme', testApiKey],
    ['two keys', `Bearer ${testApiKey} ${testApiKey}`],
    ['a key with more behind it', `Bearer ${testApiKey}x`],
    ['part of a key', `Bearer ${testApiKey.slice(0, -1)}`],
    ['a key in other case', `Bearer ${testApiKey.toUpperCase()}`],
    ['the digest of a key', `Bearer ${digestOf(testApiKey).toString('hex')}`],
    ['a very long key', `Bearer ${'k'.repeat(5_000)}`],
    ['quotes and percent signs', `Bearer ' or 1=1 --%00`],
  ])('%s is refused and nothing is stored', async (_name, authorization) => {
    const before = await countStored(service.db);
    const answer = await service.api.post('/v1/accounts', account, { key: randomUUID(), headers: { authorization } });
    expectProblem(answer, 401, 'UNAUTHENTICATED');
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(await countStored(service.db)).toEqual(before);
  });

  it('the scheme is read in any case', async () => {
    const answer = await service.api.get('/v1/operations', { headers: { authorization: `bearer ${testApiKey}` } });
    expect(answer.status).toBe(200);
  });

  it('only digests are in the database', async () => {
    await service.api.openAccount(1);
    const { rows } = await sql<{ text: string }>`
      select coalesce(string_agg(row_to_json(k)::text, ' '), '') as text from api_keys k`.execute(service.db);
    expect(rows[0]?.text).toContain(digestOf(testApiKey).toString('hex'));
    expect(rows[0]?.text).not.toContain(testApiKey);
    expect(rows[0]?.text).not.toContain(Buffer.from(testApiKey).toString('hex'));
  });

  it('a revoked key is refused, also after a restart that is given it again', async () => {
    const apiKey = 'a-key-that-gets-revoked';
    await ensureApiKey(service.db, apiKey, { client: 'default', scopes: ['operate'] });
    expect((await service.api.get('/v1/operations', { apiKey })).status).toBe(200);
    await service.db
      .updateTable('api_keys')
      .set({ revoked_at: new Date() })
      .where('digest', '=', digestOf(apiKey))
      .execute();
    // A new process has nothing remembered; the old one forgets within seconds.
    const other = await startServiceOn(service, { role: 'api', environment: { SEMEL_API_KEY: apiKey } });
    const api = new Api(other.url ?? '');
    try {
      expectProblem(await api.get('/v1/operations', { apiKey }), 401, 'UNAUTHENTICATED');
      expect((await api.get('/v1/operations')).status).toBe(200);
    } finally {
      await api.close();
      await other.close();
    }
  });
});

describe('scopes', () => {
  it.each([
    ['operate', ['operate'] as const],
    ['admin', ['admin'] as const],
  ])('a key with the scope %s may run operations', async (name, scopes) => {
    const apiKey = `key-with-the-scope-${name}`;
    await ensureApiKey(service.db, apiKey, { client: 'scoped', scopes });
    const answer = await service.api.post('/v1/accounts', account, { key: randomUUID(), apiKey });
    expect(answer.status).toBe(201);
  });

  it('a key without scopes is forbidden everything and stores nothing', async () => {
    const apiKey = 'key-without-any-scope';
    await ensureApiKey(service.db, apiKey, { client: 'scoped', scopes: [] });
    const before = await countStored(service.db);
    expectProblem(await service.api.get('/v1/operations', { apiKey }), 403, 'FORBIDDEN');
    expectProblem(await service.api.post('/v1/accounts', account, { key: randomUUID(), apiKey }), 403, 'FORBIDDEN');
    expect(await countStored(service.db)).toEqual(before);
  });
});

describe('X-Client-ID', () => {
  it.each(['a', 'shop-1', 'A.b_c-9', '.', '__proto__', 'x'.repeat(64)])('%s names a sub-client', async (id) => {
    const headers = { 'x-client-id': id };
    const answer = await service.api.post('/v1/accounts', account, { key: randomUUID(), headers });
    expect(answer.status).toBe(201);
    const list = await service.api.get('/v1/operations', { headers });
    expect(list.body.items).toHaveLength(1);
  });

  it.each(['', 'x'.repeat(65), 'a b', 'a/b', 'a,b', 'a@b', '"a"', 'ä', '%41', '*'])(
    '%j is refused and nothing is stored',
    async (id) => {
      const before = await countStored(service.db);
      const headers = { 'x-client-id': id };
      const answer = await service.api.post('/v1/accounts', account, { key: randomUUID(), headers });
      expectProblem(answer, 400, 'INVALID_REQUEST');
      expect(answer.body.errors).toEqual([{ path: 'X-Client-ID', message: expect.any(String) }]);
      expect(await countStored(service.db)).toEqual(before);
    },
  );
});
