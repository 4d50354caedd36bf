import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminHeaders, basicOf, testAdminPassword } from '../../support/admin.ts';
import { Api } from '../../support/api.ts';
import { startServiceOn, startTestService, type TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ role: 'api', environment: { SEMEL_ADMIN_PASSWORD: testAdminPassword } });
});

afterAll(() => service.close());

const get = (path: string, authorization: string) => service.api.get(path, { headers: { authorization } });
const paths = [
  '/queues',
  '/queues/',
  '/queues/queue/operations',
  '/queues/api/queues',
  '/queues/static/favicon.ico',
  '/queues/none',
];

describe('nobody gets in', () => {
  it.each(paths)('to %s without credentials, with an API key, or with others’ credentials', async (path) => {
    const wrong = ['', 'Bearer test-key-of-client-default', 'Basic !', 'Basic YWRtaW4=', `Bearer ${testAdminPassword}`];
    for (const authorization of wrong) {
      const answer = await get(path, authorization);
      expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/);
      expect(answer.headers['x-request-id']).toBeTruthy();
    }
  });

  it('who guesses is stopped after ten, from that address alone, even if the next guess is right', async () => {
    // Every address of 127/8 is this machine, so that the others of this file are not stopped as well.
    const guess = async (localAddress: string, authorization: string) => {
      const { Client } = await import('undici');
      const client = new Client(service.api.url, { localAddress });
      const answer = await client.request({ method: 'GET', path: '/queues', headers: { authorization } });
      await answer.body.dump();
      await client.close();
      return answer;
    };
    const wrong = [
      basicOf('admin', 'password'),
      basicOf('root', testAdminPassword),
      basicOf('admin', `${testAdminPassword} `),
    ];
    for (let n = 0; n < 10; n += 1) expect((await guess('127.0.0.7', wrong[n % 3] ?? '')).statusCode).toBe(401);
    const stopped = await guess('127.0.0.7', basicOf('admin', 'password'));
    expect(stopped.statusCode).toBe(429);
    expect(Number(stopped.headers['retry-after'])).toBeGreaterThan(0);
    expect((await guess('127.0.0.7', adminHeaders.authorization)).statusCode).toBe(429);
    expect((await guess('127.0.0.8', adminHeaders.authorization)).statusCode).toBe(200);
  });

  it('if no password is set, and the page says so', async () => {
    const other = await startServiceOn(service, { role: 'api', environment: { SEMEL_ADMIN_PASSWORD: '' } });
    const api = new Api(other.url ?? '');
    for (const authorization of ['', basicOf('admin', ''), basicOf('admin', 'undefined')]) {
      const answer = await api.get('/queues', { headers: { authorization } });
      expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
      expect(answer.body.detail).toContain('SEMEL_ADMIN_PASSWORD');
    }
    await api.close();
    await other.close();
  });
});

describe('who is let in', () => {
  it('gets the page, which asks nobody else for anything', async () => {
    const answer = await get('/queues', adminHeaders.authorization);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('<title>Semel</title>');
    expect(answer.text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    });
    for (const [, path = ''] of answer.text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)) {
      const asset = await get(`/queues/${path}`, adminHeaders.authorization);
      expect(asset.status, path).toBe(200);
      expect(asset.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('cannot be used by a page of somebody else', async () => {
    const send = async (headers: Record<string, string>) => {
      const path = '/queues/api/queues/operations/none/retry';
      return (await service.api.send('PUT', path, undefined, { headers: { ...adminHeaders, ...headers } })).status;
    };
    const host = new URL(service.api.url).host;
    for (const site of ['cross-site', 'same-site', 'none']) expect(await send({ 'sec-fetch-site': site })).toBe(403);
    expect(await send({ 'sec-fetch-site': 'cross-site', origin: `http://${host}` })).toBe(403);
    for (const origin of ['https://evil.example', 'null', `http://${host}.evil.example`, 'http://127.0.0.1:1']) {
      expect(await send({ origin })).toBe(403);
    }
    expect(await send({ 'sec-fetch-site': 'same-origin' })).toBe(404);
    expect(await send({ origin: `http://${host}` })).toBe(404);
    expect(await send({})).toBe(404);
  });
});
