import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLoopback } from '../../src/api/routes/metrics.ts';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { csvOf, mailingWith, newMailing, uploadCsv } from '../support/mailings.ts';
import { parseMetrics, scrape, sumOf } from '../support/metrics.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';

/** Name and labels, as the contract says. */
const contract: Record<string, readonly string[]> = {
  idempotency_requests_total: ['operation', 'outcome'],
  idempotency_duplicates_total: ['operation', 'reason'],
  idempotency_check_duration_seconds: ['operation', 'cache_hit'],
  idempotency_records: ['status'],
  idempotency_cache_hit_rate: [],
  idempotency_stuck_records: [],
  idempotency_cleanup_deleted_total: [],
  idempotency_cleanup_duration_seconds: [],
  idempotency_cleanup_failures_total: [],
  operation_duration_seconds: ['operation', 'outcome'],
  queue_jobs: ['queue', 'state'],
  queue_workers: ['queue'],
  queue_oldest_waiting_seconds: ['queue'],
  outbox_pending: [],
  outbox_publish_duration_seconds: [],
  mailing_emails_total: ['status'],
  mailing_send_duration_seconds: [],
  http_requests_total: ['method', 'route', 'status'],
  http_request_duration_seconds: [],
  dead_letters: [],
  invariant_ledger_imbalance: [],
  invariant_unfinished_without_job: [],
  invariant_entries_sent_twice: [],
};

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30', HOST: '0.0.0.0' } });
});

afterAll(() => service.close());

const transfer = async (key: string, amount = 1) =>
  await service.api.post(
    '/v1/operations/customer.create',
    { name: 'Ada', email: `${key}-${amount}@example.com` },
    { key },
  );

describe('/metrics', () => {
  it('has every metric of the contract with exactly its labels, once each of them was used', async () => {
    const key = randomUUID();
    await transfer(key);
    await transfer(key);
    await mailingWith(service.api, await newMailing(service.api, csvOf(2)), 'COMPLETED');
    const samples = parseMetrics(await scrape(service.api));
    for (const [name, labels] of Object.entries(contract)) {
      const found = samples.filter((sample) => sample.name === name || sample.name === `${name}_count`);
      expect(found, name).not.toEqual([]);
      for (const sample of found) expect(Object.keys(sample.labels).sort(), name).toEqual(labels.toSorted());
    }
  });

  it('tells new, replayed and other requests under one key apart, exactly', async () => {
    const of = async (name: string, labels: Record<string, string>) =>
      sumOf(await scrape(service.api), name, { operation: 'customer.create', ...labels }) ?? 0;
    const counts = async () => ({
      created: await of('idempotency_requests_total', { outcome: 'created' }),
      replayed: await of('idempotency_requests_total', { outcome: 'replayed' }),
      mismatched: await of('idempotency_requests_total', { outcome: 'mismatched' }),
      answered: await of('idempotency_duplicates_total', { reason: 'answered' }),
      mismatch: await of('idempotency_duplicates_total', { reason: 'mismatch' }),
      checks: await of('idempotency_check_duration_seconds_count', {}),
    });
    const before = await counts();
    const keys = [randomUUID(), randomUUID()];
    for (const key of keys) for (let time = 0; time < 4; time += 1) expect((await transfer(key)).status).toBe(201);
    await transfer(keys[0] ?? '', 2);
    const after = await counts();
    const grown = Object.fromEntries(
      Object.entries(after).map(([name, value]) => [name, value - before[name as keyof typeof before]]),
    );
    expect(grown).toEqual({ created: 2, replayed: 6, mismatched: 1, answered: 6, mismatch: 1, checks: 9 });
    const rate = sumOf(await scrape(service.api), 'idempotency_cache_hit_rate');
    expect(rate).toBeGreaterThan(0.5);
    expect(rate).toBeLessThanOrEqual(1);
  });

  it('recognises a file by what it was recognised by', async () => {
    const of = async (reason: string) =>
      sumOf(await scrape(service.api), 'idempotency_duplicates_total', { operation: 'mailing.upload', reason }) ?? 0;
    const before = { filename: await of('filename'), content: await of('content'), mismatch: await of('mismatch') };
    const csv = csvOf(1, 500);
    await uploadCsv(service.api, csv, { filename: 'metrics.csv' });
    await uploadCsv(service.api, csv, { filename: 'metrics.csv' });
    await uploadCsv(service.api, csv, { filename: 'again.csv' });
    expect((await uploadCsv(service.api, csvOf(2, 600), { filename: 'metrics.csv' })).status).toBe(409);
    expect({ filename: await of('filename'), content: await of('content'), mismatch: await of('mismatch') }).toEqual({
      filename: before.filename + 1,
      content: before.content + 1,
      mismatch: before.mismatch + 1,
    });
  });

  it('makes no label of what a client makes up: ids, paths, methods, names of operations', async () => {
    const made = [`made-up-${randomUUID()}`, `made.up.${Date.now()}`];
    await service.api.get(`/v1/operations/${randomUUID()}`);
    await service.api.get(`/${made[0]}`);
    await service.api.get(`/v1/${made[0]}`);
    await service.api.post(`/v1/operations/${made[1]}`, {}, { key: randomUUID() });
    await service.api.send('PROPFIND', '/v1/accounts');
    const samples = parseMetrics(await scrape(service.api));
    const values = samples.flatMap(({ labels }) => Object.values(labels));
    expect(values.filter((value) => made.some((name) => value.includes(name)))).toEqual([]);
    expect(values.filter((value) => /[0-9a-f]{8}-[0-9a-f]{4}/.test(value))).toEqual([]);
    const of = (labels: Record<string, string>) =>
      samples.filter(
        ({ name, labels: has }) =>
          name === 'http_requests_total' && Object.entries(labels).every(([key, value]) => has[key] === value),
      );
    expect(of({ route: '/v1/operations/:id', method: 'GET', status: '404' })).toHaveLength(1);
    expect(of({ route: '/v1/operations/:operation', method: 'POST', status: '404' })).toHaveLength(1);
    expect(of({ route: 'unmatched', method: 'OTHER', status: '404' })).toHaveLength(1);
    expect(of({ route: 'unmatched', method: 'GET', status: '404' })).toHaveLength(1);
  });

  it('counts what was refused under the route that it was for', async () => {
    const before = sumOf(await scrape(service.api), 'http_requests_total', { route: '/v1/accounts', status: '401' });
    await service.api.post('/v1/accounts', {}, { apiKey: 'nobody-knows-this-key' });
    const after = sumOf(await scrape(service.api), 'http_requests_total', { route: '/v1/accounts', status: '401' });
    expect(after).toBe((before ?? 0) + 1);
  });

  it('counts records by status, dead letters, the outbox and the jobs of every queue', async () => {
    const { rows } = { rows: await service.db.selectFrom('records').select('status').execute() };
    const succeeded = rows.filter(({ status }) => status === 'SUCCEEDED').length;
    await eventually(async () => {
      const metrics = await scrape(service.api);
      expect(sumOf(metrics, 'idempotency_records', { status: 'SUCCEEDED' })).toBe(succeeded);
      expect(sumOf(metrics, 'idempotency_records', { status: 'QUEUED' })).toBe(0);
      expect(sumOf(metrics, 'outbox_pending')).toBe(0);
      expect(sumOf(metrics, 'dead_letters')).toBe(0);
      expect(sumOf(metrics, 'idempotency_stuck_records')).toBe(0);
      for (const queue of ['operations', 'notifications', 'mailings']) {
        expect(sumOf(metrics, 'queue_workers', { queue }), queue).toBe(1);
        expect(sumOf(metrics, 'queue_jobs', { queue, state: 'waiting' }), queue).toBe(0);
        expect(sumOf(metrics, 'queue_oldest_waiting_seconds', { queue }), queue).toBe(0);
      }
      expect(sumOf(metrics, 'store_up', { store: 'postgres' })).toBe(1);
      expect(sumOf(metrics, 'store_up', { store: 'redis' })).toBe(1);
    });
  });
});

describe('who may see them', () => {
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

  /** From another address than loopback where this machine has one, else as a proxy on this machine would. */
  const fromOutside = async (path: string, headers: Record<string, string>): Promise<number> => {
    const port = new URL(service.api.url).port;
    const far = outside === undefined ? { 'x-forwarded-for': '192.0.2.1' } : {};
    const request = httpRequest({ host: outside ?? '127.0.0.1', port, path, headers: { ...far, ...headers } }).end();
    const [status] = await new Promise<[number]>((resolve, reject) => {
      request.once('error', reject);
      request.once('response', (response) => {
        void text(response).then(() => resolve([response.statusCode ?? 0]));
      });
    });
    return status;
  };

  it('this machine needs no key', async () => {
    expect((await service.api.get('/metrics', { headers: { authorization: '' } })).status).toBe(200);
  });

  it('others need a key of scope admin', async () => {
    await ensureApiKey(service.db, 'key-that-may-only-operate', { client: 'default', scopes: ['operate'] });
    expect(await fromOutside('/metrics', {})).toBe(401);
    expect(await fromOutside('/metrics', { authorization: 'Bearer no-such-key-at-all' })).toBe(401);
    expect(await fromOutside('/metrics', { authorization: 'Bearer key-that-may-only-operate' })).toBe(403);
    expect(await fromOutside('/metrics', { authorization: 'Bearer test-key-of-client-default' })).toBe(200);
  });

  it.each(['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'])(
    'a header %s gives nothing: neither from outside nor through a proxy on this machine',
    async (header) => {
      expect(await fromOutside('/metrics', { [header]: '127.0.0.1' })).toBe(401);
      const proxied = await service.api.get('/metrics', { headers: { authorization: '', [header]: '127.0.0.1' } });
      expect(proxied.status).toBe(401);
    },
  );

  it('loopback is what the system calls so, and nothing that looks like it', () => {
    const here = ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'];
    expect(here.filter((address) => !isLoopback(address))).toEqual([]);
    const elsewhere = ['', '10.0.0.1', '::ffff:10.0.0.1', '127.evil.example', '::2', '128.0.0.1', 'localhost'];
    expect(elsewhere.filter(isLoopback)).toEqual([]);
  });
});

describe('a worker on its own', () => {
  it('shows what it measures, and that it lives, where METRICS_PORT says; and nothing else', async () => {
    const worker = await startServiceOn(service, {
      role: 'worker',
      environment: { METRICS_PORT: '0', HOST: '127.0.0.1' },
    });
    const api = new Api(worker.metricsUrl ?? '');
    try {
      const metrics = await scrape(api);
      expect(sumOf(metrics, 'mailing_emails_total')).toBeDefined();
      expect(sumOf(metrics, 'store_up', { store: 'postgres' })).toBe(1);
      expect(metrics).not.toContain('http_requests_total');
      // The stores are the same for all, and the API speaks for them.
      expect(metrics).not.toContain('idempotency_records');
      expect((await api.get('/health/live')).body).toEqual({ status: 'ok' });
      // Not by the client of the tests, which holds every answer against the documents of the API.
      expect((await fetch(`${worker.metricsUrl}/v1/operations`)).status).toBe(404);
      expect((await api.get('/metrics', { headers: { via: 'proxy', authorization: '' } })).status).toBe(401);
    } finally {
      await api.close();
      await worker.close();
    }
  });

  it('listens on no port unless it is told to', async () => {
    const worker = await startServiceOn(service, { role: 'worker' });
    expect(worker).toMatchObject({ url: undefined, metricsUrl: undefined });
    await worker.close();
  });
});
