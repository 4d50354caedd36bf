import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';
import { sendRaw } from './raw-request.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

const fine = { status: 'ok', responseTimeMs: expect.any(Number) };

describe('/health', () => {
  it('tells of all five parts, with how long each took to answer', async () => {
    // A worker that is just starting may not be seen yet.
    await eventually(async () => {
      const answer = await service.api.get('/health');
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        status: 'ok',
        checks: {
          database: fine,
          redis: fine,
          storage: fine,
          outbox: { ...fine, lagSeconds: expect.any(Number), pending: expect.any(Number), quarantined: 0 },
          workers: { ...fine, count: 1 },
        },
      });
    });
  });

  it.each(['/health', '/health/live', '/health/ready'])('%s is open to all', async (path) => {
    const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const answer = await sendRaw(service.api.url, bytes);
    expect([answer.status, answer.body.status]).toEqual([200, 'ok']);
    expect(answer.headers['x-request-id']).toEqual(expect.any(String));
  });

  it('/health/live and /health/ready say no more than the status', async () => {
    expect((await service.api.get('/health/live')).body).toEqual({ status: 'ok' });
    expect((await service.api.get('/health/ready')).body).toEqual({ status: 'ok' });
  });
});

describe('an API without workers', () => {
  it('is degraded but ready, because it takes requests', async () => {
    const other = await startTestService({ role: 'api' });
    try {
      const { body, status } = await other.api.get('/health');
      expect([status, body.status]).toEqual([200, 'degraded']);
      expect(body.checks.workers).toMatchObject({ status: 'degraded', count: 0 });
      expect(body.checks.database.status).toBe('ok');
      const ready = await other.api.get('/health/ready');
      expect([ready.status, ready.body]).toEqual([200, { status: 'degraded' }]);
    } finally {
      await other.close();
    }
  });

  it('sees the workers of other processes', async () => {
    const other = await startServiceOn(service, { role: 'api' });
    const api = new Api(other.url ?? '');
    try {
      expect((await api.get('/health')).body.checks.workers).toMatchObject({ status: 'ok', count: 1 });
    } finally {
      await api.close();
      await other.close();
    }
  });
});
