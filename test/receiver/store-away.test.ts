import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type DedupStore,
  IdempotentReceiver,
  PostgresDedupStore,
  RedisDedupStore,
  type Risk,
  StoreAwayError,
} from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { type PrivateServer, startPrivatePostgres, startPrivateRedis } from '../support/stores.ts';

const messages = Array.from({ length: 50 }, (_, n) => ({ id: `message-${n}` }));
type Message = (typeof messages)[number];

const closers: (() => Promise<void> | void)[] = [];

afterAll(async () => {
  for (const close of closers) await close();
});

/** The clients are as a program would make them, with no option that has to do with absence. */
const servers: Record<string, () => Promise<{ server: PrivateServer; store: DedupStore }>> = {
  Redis: async () => {
    const server = await startPrivateRedis();
    const redis = new Redis(server.url);
    redis.on('error', () => undefined);
    closers.push(() => redis.disconnect());
    return { server, store: new RedisDedupStore({ redis }) };
  },
  Postgres: async () => {
    const server = await startPrivatePostgres();
    const pool = new pg.Pool({ connectionString: server.url });
    pool.on('error', () => undefined);
    closers.push(() => pool.end());
    const store = new PostgresDedupStore({ db: pool });
    await store.createTable();
    return { server, store };
  },
};

describe.each(Object.entries(servers))('%s is killed', (_name, start) => {
  it('closed refuses and retries later with nothing lost; open delivers and counts the risk', async () => {
    const { server, store } = await start();
    const closed = new Map<string, number>();
    const receiver = new IdempotentReceiver({
      store,
      namespace: 'closed',
      idOf: ({ id }: Message) => id,
      handler: ({ id }) => void closed.set(id, (closed.get(id) ?? 0) + 1),
      storeTimeoutMs: 500,
    });
    const open: string[] = [];
    const risks: Risk[] = [];
    const openReceiver = new IdempotentReceiver({
      store,
      namespace: 'open',
      idOf: ({ id }: Message) => id,
      handler: ({ id }) => void open.push(id),
      whenStoreIsAway: 'deliver',
      storeTimeoutMs: 500,
      onRisk: (risk) => risks.push(risk),
      log: { warn: () => undefined },
    });
    const before = messages.slice(0, 10);
    for (const message of before) await receiver.receive(message);

    await server.kill();
    const refusals = await Promise.all(messages.map((message) => receiver.receive(message).catch((error) => error)));
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(StoreAwayError);
    expect(closed.size).toBe(before.length);
    const receipts = await Promise.all(messages.map((message) => openReceiver.receive(message)));
    expect(receipts).toEqual(messages.map(() => ({ result: undefined, duplicate: false, recorded: false })));
    expect(open.toSorted()).toEqual(messages.map(({ id }) => id).toSorted());
    expect(risks.map(({ kind }) => kind)).toEqual(messages.map(() => 'delivered-without-store'));
    expect(openReceiver.riskCount).toBe(messages.length);

    await server.start();
    // As a queue does it: each message is delivered again until it is accepted.
    await Promise.all(messages.map((message) => eventually(() => receiver.receive(message), { timeoutMs: 45_000 })));
    expect([...closed.keys()].toSorted()).toEqual(messages.map(({ id }) => id).toSorted());
    expect(new Set(closed.values())).toEqual(new Set([1]));
    expect(await openReceiver.receive({ id: 'afterwards' })).toMatchObject({ recorded: true });
    expect(openReceiver.riskCount).toBe(messages.length);
  });
});
