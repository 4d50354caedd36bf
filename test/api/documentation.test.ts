import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
});

afterAll(() => service.close());

describe.each(['/openapi.json', '/docs'])('%s', (path) => {
  const ask = async (headers: Record<string, string>) => {
    const answer = await request(`${service.api.url}${path}`, { headers });
    return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };

  it('is open to all, and smaller for those who unpack it', async () => {
    const plain = await ask({});
    const zipped = await ask({ 'accept-encoding': 'br, gzip' });
    expect([plain.statusCode, zipped.statusCode]).toEqual([200, 200]);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(zipped.bytes)).toEqual(plain.bytes);
    expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 5);
  });

  it('is not packed for those who refuse it', async () => {
    for (const refusal of ['gzip;q=0', 'gzip; q=0.0, br', 'identity']) {
      expect((await ask({ 'accept-encoding': refusal })).headers['content-encoding'], refusal).toBeUndefined();
    }
    expect((await ask({ 'accept-encoding': 'gzip;q=0.5' })).headers['content-encoding']).toBe('gzip');
  });
});

it('the page may run and load nothing but what is in it', async () => {
  const { headers } = await request(`${service.api.url}/docs`);
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+';/);
  expect(policy).not.toMatch(/https?:|unsafe|\*/);
});
