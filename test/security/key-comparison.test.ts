import * as crypto from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readUnsubscribeToken } from '../../src/processors/mailings/links.ts';
import { digestOf } from '../../src/store/api-keys.ts';
import { basicOf, testAdminPassword } from '../support/admin.ts';
import { testApiKey } from '../support/api.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';
import { listProject, readText } from '../support/sources.ts';
import { SafeApi } from './safe-answer.ts';

// The real one, watched.
vi.mock('node:crypto', async (importOriginal) => {
  const original = await importOriginal<typeof crypto>();
  return { ...original, timingSafeEqual: vi.fn(original.timingSafeEqual) };
});

const compare = vi.mocked(crypto.timingSafeEqual);
const sha256 = (text: string) => crypto.createHash('sha256').update(text).digest();
const compared = () => compare.mock.calls.flat().map((bytes) => Buffer.from(bytes as Uint8Array));

let service: TestService;
let api: SafeApi;

beforeAll(async () => {
  service = await startTestService({ role: 'api', environment: { SEMEL_ADMIN_PASSWORD: testAdminPassword } });
  api = new SafeApi(service.api.url);
});

afterAll(async () => {
  await api.close();
  await service.close();
});

beforeEach(() => {
  compare.mockClear();
});

describe('a secret is compared in a time that says nothing of it', () => {
  it('an API key, by digests of equal length', async () => {
    // One that has remembered nobody yet.
    const other = await startServiceOn(service, { role: 'api' });
    const fresh = new SafeApi(other.url ?? '');
    expect((await fresh.get('/v1/operations')).status).toBe(200);
    expect(compared()).toEqual([digestOf(testApiKey), digestOf(testApiKey)]);
    await fresh.close();
    await other.close();
  });

  it('the password of the administrator, by digests of equal length, right or wrong', async () => {
    for (const password of [testAdminPassword, 'x', `${testAdminPassword}x`, testAdminPassword.slice(0, -1)]) {
      compare.mockClear();
      await api.get('/queues', { headers: { authorization: basicOf('admin', password) } });
      expect(compared()).toContainEqual(sha256(`admin:${password}`));
      expect(compared()).toContainEqual(sha256(`admin:${testAdminPassword}`));
    }
  });

  it('the signature of a link', () => {
    const token = 'A'.repeat(22);
    expect(readUnsubscribeToken(`${token}.${'B'.repeat(22)}`, Buffer.from('key'))).toBeUndefined();
    expect(compare).toHaveBeenCalledOnce();
  });

  it('and nowhere in the source with an operator or by a search', () => {
    const secret = String.raw`\b\w*(?:apiKey|password|secret|signature|digest|hmac)\w*(?:\.toString\([^)]*\))?`;
    const harmless = String.raw`undefined|null|'|\d|=`;
    const byOperator = new RegExp(
      `(?:${secret})\\s*[!=]==?(?!\\s*(?:${harmless}))|[!=]==?\\s*[\\w.]*${secret}(?![\\w.]*\\.length)`,
      'gi',
    );
    const bySearch = new RegExp(`${secret}\\.(?:startsWith|includes|localeCompare|equals)\\(`, 'gi');
    const sources = listProject('src').filter((path) => path.endsWith('.ts'));
    const found = sources.flatMap((path) =>
      [byOperator, bySearch].flatMap((pattern) =>
        [...readText(path).matchAll(pattern)].map(([match]) => `${path}: ${match}`),
      ),
    );
    expect(found).toEqual([]);
    // The patterns find what they are for.
    for (const code of ['apiKey === given', 'row.digest == digest', 'given === config.PASSWORD', 'secret.equals(']) {
      expect(
        [byOperator, bySearch].some((pattern) => code.search(pattern) >= 0),
        code,
      ).toBe(true);
    }
  });
});

describe('an API key', () => {
  it('is looked up by its digest, and the key itself is given to no store', async () => {
    const tables = await service.db.introspection.getTables();
    const columns = tables.find(({ name }) => name === 'api_keys')?.columns.map(({ name }) => name);
    expect(columns?.sort()).toEqual(['client', 'created_at', 'digest', 'id', 'last_used_at', 'revoked_at', 'scopes']);
    const finder = readText('src/store/api-keys.ts');
    expect(finder).toMatch(/\.where\('digest', '=', digest\)/);
    expect(finder).not.toMatch(/\.where\('(?:key|api_key)'/);
  });
});
