import { appRoutes } from '@bull-board/api/dist/routes.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type HousekeepingFixture, openFixture } from '../../queues/housekeeping/fixture.ts';
import { askBoard, testAdminPassword } from '../../support/admin.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { type PrivateServer, startPrivateRedis } from '../../support/stores.ts';

let service: TestService;
let fixture: HousekeepingFixture;
let redis: PrivateServer;

beforeAll(async () => {
  // Of its own, so that nobody else's commands are counted.
  redis = await startPrivateRedis({ persistent: false });
  service = await startTestService({
    role: 'api',
    environment: { SEMEL_ADMIN_PASSWORD: testAdminPassword, REDIS_URL: redis.url },
  });
  fixture = await openFixture(service);
});

afterAll(async () => {
  await fixture.close();
  await service.close();
});

const ask = (method: string, path: string, body?: unknown) => askBoard(service.api, method, path, body);

it('all queues are there, with what they are for, and jobs under readable ids that hold no request', async () => {
  const body = { owner: 'Ada Lovelace', currency: 'EUR' };
  await service.api.post('/v1/accounts', body, { key: 'order 1/2', headers: { prefer: 'respond-async' } });
  const { body: answer } = await ask('GET', '/queues?activeQueue=operations&status=latest');
  const names = answer.queues.map((queue: { name: string }) => queue.name);
  expect(names).toEqual(['operations', 'notifications', 'mailings', 'dead-letters', 'housekeeping']);
  for (const queue of answer.queues) expect(queue.description).toBeTruthy();
  const [job] = answer.queues[0].jobs;
  expect(job.id).toBe('account.open~default~order=201=2F2');
  expect(Object.keys(job.data).sort()).toEqual(['recordId']);
  expect(JSON.stringify(answer)).not.toContain('Lovelace');
  const one = await ask('GET', `/queues/operations/${encodeURIComponent(job.id)}`);
  expect(one).toMatchObject({ status: 200, body: { job: { id: job.id }, status: 'waiting' } });
});

it('only what concerns one job may be done; the rest is refused and changes nothing', async () => {
  await fixture.queues.add('mailings', [{ name: 'send', jobId: 'send~job', data: { mailingId: 'm' } }]);
  const before = await ask('GET', '/queues');
  const refused: string[] = [];
  for (const { method, route } of appRoutes.api) {
    if (method === 'get') continue;
    const path = String(route).replace('/api', '').replace(':queueName', 'mailings').replace(':jobId', 'send~job');
    const filled = path.replace(':queueStatus', 'waiting').replace(':schedulerId', 'none');
    if (/\/(retry|clean|promote|run)$/.test(filled) && !/mailings\/promote$/.test(filled)) continue;
    if (filled.endsWith('resume')) continue;
    const answer = await ask(String(method).toUpperCase(), filled, { name: 'x', data: {}, options: {} });
    expect(answer.status, filled).toBe(403);
    refused.push(filled);
  }
  expect(refused).toContain('/queues/mailings/obliterate');
  expect(refused).toContain('/queues/mailings/pause');
  expect(refused).toContain('/queues/mailings/clean/waiting');
  expect(refused).toContain('/queues/mailings/retry/waiting');
  expect(refused).toContain('/queues/mailings/add');
  expect(refused.length).toBeGreaterThanOrEqual(17);
  expect((await ask('GET', '/queues')).body).toEqual(before.body);
});

it('bad input is refused, and not with a failure', async () => {
  const paths = [
    '/queues?page=0',
    '/queues?jobsPerPage=100000',
    '/queues?status=none',
    '/queues?activeQueue=%25',
    '/queues?activeQueue=operations&page=99999999',
    '/job-schedulers?queueName=%25E0',
    '/queues/none/metrics',
    '/queues/operations/none',
    `/queues/operations/${'x'.repeat(5_000)}`,
    '/queues/operations/none/logs',
    '/queues/operations/none/flow?depth=-1',
  ];
  for (const path of paths) expect((await ask('GET', path)).status, path).toBeLessThan(500);
  expect((await ask('GET', '/queues?jobsPerPage=100000')).status).toBe(400);
  expect((await ask('GET', '/queues?activeQueue=%25')).status).toBe(400);
  expect((await ask('PUT', '/queues/operations/none/retry')).status).toBe(404);
  expect((await ask('PUT', '/queues/none/none/retry')).status).toBe(404);
});

it('fifty thousand jobs cost as many commands to look at as ten', async () => {
  const add = async (from: number, count: number) => {
    const jobs = Array.from({ length: count }, (_, n) => ({ name: 'alerts', jobId: `event-${from + n}`, data: {} }));
    await fixture.queues.add('notifications', jobs);
  };
  const countCommands = async (path: string) => {
    const before = await commandsProcessed();
    const answer = await ask('GET', path);
    expect(answer.status).toBe(200);
    expect(answer.text.length).toBeLessThan(20_000);
    return (await commandsProcessed()) - before;
  };
  const list = '/queues?activeQueue=notifications&jobsPerPage=10';
  const costs = async (lastPage: number) => ({
    overview: await countCommands('/queues'),
    latest: await countCommands(`${list}&status=latest`),
    waiting: await countCommands(`${list}&status=waiting&page=${lastPage}`),
  });
  await add(0, 10);
  const few = await costs(1);
  for (let from = 10; from < 50_010; from += 2_000) await add(from, 2_000);
  const many = await costs(5_000);
  for (const page of ['overview', 'latest', 'waiting'] as const) {
    // A heartbeat of a connection may come in between.
    expect(Math.abs(many[page] - few[page]), page).toBeLessThan(10);
  }
  expect((await ask('GET', '/queues')).body.queues[1].counts.waiting).toBe(50_010);
});

it('without Redis the page says so', async () => {
  await redis.kill();
  expect(await ask('GET', '/queues')).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
  await redis.start();
  await eventually(async () => expect((await ask('GET', '/queues')).status).toBe(200));
});

async function commandsProcessed(): Promise<number> {
  const info = await (fixture.redis as import('ioredis').Redis).info('stats');
  return Number(/total_commands_processed:(\d+)/.exec(info)?.[1]);
}
