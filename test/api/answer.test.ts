import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { requestBytes, sendRaw } from './raw-request.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ environment: { RECORD_TTL_SECONDS: '3600' } });
});

afterAll(() => service.close());

const account = { owner: 'Ada', currency: 'EUR' };

describe('the headers of an answer', () => {
  it('name the operation and say until when the key answers', async () => {
    const key = randomUUID();
    const first = await service.api.post('/v1/accounts', account, { key });
    const replay = await service.api.post('/v1/accounts', account, { key });
    const operation = (await service.api.get(`/v1/operations/${first.headers['operation-id']}`)).body;
    for (const { headers } of [first, replay]) {
      expect(headers['operation-id']).toBe(operation.id);
      const expires = String(headers['idempotency-expires']);
      // The form that RFC 9110 prefers, and to the second the time that the operation shows.
      expect(expires).toMatch(/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
      expect(expires).toBe(new Date(operation.expiresAt).toUTCString());
    }
    expect([first.headers['idempotent-replayed'], replay.headers['idempotent-replayed']]).toEqual(['false', 'true']);
    expect(Date.parse(operation.expiresAt) - Date.parse(operation.updatedAt)).toBe(3_600_000);
  });
});

describe('X-Request-Id', () => {
  it.each(['a', 'req-1', 'A.b_c:d-9', 'x'.repeat(128)])('%s is taken over', async (id) => {
    const headers = { 'x-request-id': id };
    expect((await service.api.get('/health/live', { headers })).headers['x-request-id']).toBe(id);
    expect((await service.api.get('/v1/operations', { headers })).headers['x-request-id']).toBe(id);
    expect((await service.api.get('/nowhere', { headers })).headers['x-request-id']).toBe(id);
    const options = { key: randomUUID(), headers };
    expect((await service.api.post('/v1/accounts', account, options)).headers['x-request-id']).toBe(id);
    expect((await service.api.post('/v1/accounts', {}, options)).headers['x-request-id']).toBe(id);
    const stranger = await service.api.get('/v1/operations', { headers, apiKey: 'nobody-has-this-key' });
    expect(stranger.headers['x-request-id']).toBe(id);
  });

  it.each(['', 'a b', 'x'.repeat(129), '<script>', '{"a":1}', '\xe4', 'a,b', 'a\tb'])(
    '%j is replaced by one of ours',
    async (id) => {
      const bytes = requestBytes('GET /v1/operations', [`X-Request-Id: ${id}`]);
      const { headers, status } = await sendRaw(service.api.url, bytes);
      expect(status).toBe(200);
      expect(headers['x-request-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    },
  );

  it('of ours is another one for every answer', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.api.get('/health/live')));
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(20);
  });
});
