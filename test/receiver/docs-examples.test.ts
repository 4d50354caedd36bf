import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openTestStores, type TestStores } from '../support/service.ts';
import { readText, root } from '../support/sources.ts';
import { testRedisUrl } from '../support/stores.ts';

let folder: string;
let stores: TestStores;
let redis: Redis;

beforeAll(async () => {
  // Below node_modules, so that packages are found from there, and nobody else finds it.
  await mkdir(join(root, 'node_modules', '.cache'), { recursive: true });
  folder = await mkdtemp(join(root, 'node_modules', '.cache', 'receiver-'));
  const blocks = [...readText('docs/receiver.md').matchAll(/```ts\n\/\/ (\S+\.ts)\n(.*?)```/gs)];
  expect(blocks.length).toBe([...readText('docs/receiver.md').matchAll(/^```ts$/gm)].length);
  for (const [, name = '', block = ''] of blocks) {
    await writeFile(join(folder, name), block.replace("from 'semel'", "from '../../../src/index.ts'"));
  }
  stores = await openTestStores();
  redis = new Redis(testRedisUrl());
});

afterAll(async () => {
  redis.disconnect();
  await stores.close();
  await rm(folder, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: the compiler has checked the examples; here they are only run.
const load = async (name: string): Promise<any> => await import(pathToFileURL(join(folder, `${name}.ts`)).href);

async function compile(dir: string): Promise<{ code: unknown; output: string }> {
  const tsc = spawn(join(root, 'node_modules', '.bin', 'tsc'), ['-p', dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(tsc.stdout), once(tsc, 'close')]);
  return { code, output };
}

it('all of them compile', async () => {
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../../tsconfig.json', include: ['*.ts'] }),
  );
  expect(await compile(folder)).toEqual({ code: 0, output: '' });
});

it('Redis: a payment is collected once', async () => {
  const collect = vi.fn(async () => 'receipt');
  const receiver = (await load('redis')).createPaymentReceiver(redis, collect);
  const payment = { paymentId: randomUUID(), amount: 1 };
  const receipts = [await receiver.receive(payment), await receiver.receive(payment)];
  expect(receipts).toMatchObject([{ duplicate: false }, { duplicate: true, result: { receipt: 'receipt' } }]);
  expect(collect).toHaveBeenCalledOnce();
});

it('Postgres: an order is printed once, whenever it was sent', async () => {
  const pool = new pg.Pool({ connectionString: stores.environment.DATABASE_URL });
  const print = vi.fn(async () => undefined);
  const { receiver, cleanUp } = await (await load('postgres')).createOrderReceiver(pool, print);
  const order = { customerId: 'c-1', orderId: 7 };
  await receiver.receive({ ...order, sentAt: '12:00' });
  expect(await receiver.receive({ ...order, sentAt: '12:01' })).toMatchObject({ duplicate: true });
  expect(print).toHaveBeenCalledOnce();
  expect(await cleanUp()).toBe(0);
  await pool.end();
});

it('transactional: points are added once', async () => {
  await sql`create table points (customer text primary key, total integer not null default 0)`.execute(stores.db);
  await sql`insert into points (customer) values ('Ada')`.execute(stores.db);
  const receiver = (await load('transactional')).createPointsReceiver(stores.db);
  const event = { eventId: randomUUID(), customer: 'Ada', points: 5 };
  expect(await receiver.receive(event)).toMatchObject({ result: { total: 5 }, duplicate: false });
  expect(await receiver.receive(event)).toMatchObject({ result: { total: 5 }, duplicate: true });
});

it('memory: an alert is shown once', async () => {
  const show = vi.fn();
  const receiver = (await load('memory')).createAlertReceiver(show);
  await receiver.receive({ host: 'a', text: 'disk full' });
  await receiver.receive({ text: 'disk full', host: 'a' });
  expect(show).toHaveBeenCalledOnce();
});

it('consumer: a duplicate is acknowledged, a failure is set aside', async () => {
  const handler = vi.fn(async ({ body }) => {
    if (body === 'bad') throw new Error('bad');
  });
  const consume = (await load('consumer')).createConsumer(redis, handler);
  const delivery = () => ({ acknowledge: vi.fn(), deliverAgain: vi.fn(), setAside: vi.fn(), body: '', messageId: '' });
  const messageId = randomUUID();
  const [one, two] = [delivery(), delivery()].map((each) => ({ ...each, messageId }));
  await consume(one);
  await consume(two);
  expect(two?.acknowledge).toHaveBeenCalledOnce();
  expect(handler).toHaveBeenCalledOnce();
  const bad = { ...delivery(), messageId: randomUUID(), body: 'bad' };
  await consume(bad);
  expect(bad.setAside).toHaveBeenCalledOnce();
});

it('open: a request is answered while the store is away, and counted', async () => {
  const away = new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true, retryStrategy: () => null });
  away.on('error', () => undefined);
  const inc = vi.fn();
  const receiver = (await load('open')).createOpenReceiver(away, { inc });
  const headers = { 'Idempotency-Key': 'k-1' };
  const request = new Request('http://localhost', { method: 'POST', body: 'hello', headers });
  expect(await receiver.receive(request)).toEqual({ result: 'hello', duplicate: false, recorded: false });
  expect(inc).toHaveBeenCalledExactlyOnceWith({ kind: 'delivered-without-store' });
});

it('the built package can be imported by another program, with its types', async () => {
  const program = join(folder, 'program');
  await mkdir(join(program, 'node_modules'), { recursive: true });
  await symlink(root, join(program, 'node_modules', 'semel'));
  const names = ['IdempotentReceiver', 'RedisDedupStore', 'PostgresDedupStore', 'LruDedupStore'];
  const script = `import { ${names} } from 'semel'; console.log([${names}].map((each) => typeof each).join());`;
  await writeFile(join(program, 'main.mjs'), script);
  const { stdout } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: program });
  expect(stdout.trim()).toBe(names.map(() => 'function').join());

  const [, memory = ''] = readText('docs/receiver.md').match(/```ts\n\/\/ memory\.ts\n(.*?)```/s) ?? [];
  // Were the types not found, the mistake would be none.
  const mistake = "// @ts-expect-error: a duration is a number.\nnew LruDedupStore({ ttlMs: 'long' });\n";
  await writeFile(join(program, 'memory.ts'), memory + mistake);
  // A configuration as a stranger would have it, with nothing of ours.
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2022', noEmit: true, types: ['node'] };
  await writeFile(join(program, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(program, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  expect(await compile(program)).toEqual({ code: 0, output: '' });
});
