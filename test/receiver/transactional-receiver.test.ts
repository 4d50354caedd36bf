import { randomUUID } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  InFlightElsewhereError,
  MissingIdError,
  PostgresDedupStore,
  StoreAwayError,
  TransactionalReceiver,
  UnstorableResultError,
} from '../../src/index.ts';
import type { Database, DatabaseTransaction } from '../../src/store/database.ts';
import type { Schema } from '../../src/store/schema.ts';
import { eventually } from '../support/eventually.ts';
import { openTestDatabase, openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;
let db: Database;

beforeAll(async () => {
  stores = await openTestStores();
  db = stores.db;
  await sql`create table effects (message text not null)`.execute(db);
});

afterAll(() => stores.close());

type Message = { id: string };

const applyEffect = async (message: Message, tx: DatabaseTransaction) => {
  await sql`insert into effects (message) values (${message.id})`.execute(tx);
  return { applied: message.id };
};

const countEffects = async (id: string) =>
  (await sql`select 1 from effects where message = ${id}`.execute(db)).rows.length;

function createReceiver(handler: (message: Message, tx: Transaction<Schema>) => unknown = applyEffect) {
  return new TransactionalReceiver<Message, unknown, Schema>({ db, handler, idOf: ({ id }) => id });
}

it('the effect and its mark commit together; later deliveries get the result', async () => {
  const [receiver, message] = [createReceiver(), { id: randomUUID() }];
  const result = { applied: message.id };
  expect(await receiver.receive(message)).toEqual({ result, duplicate: false, recorded: true });
  expect(await receiver.receive(message)).toEqual({ result, duplicate: true, recorded: true });
  expect(await countEffects(message.id)).toBe(1);
});

it('a hundred deliveries at once have one effect', async () => {
  const message = { id: randomUUID() };
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => createReceiver().receive(message)));
  expect(await countEffects(message.id)).toBe(1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(InFlightElsewhereError);
    else expect(outcome.value.result).toEqual({ applied: message.id });
  }
});

it('a duplicate does not wait for the first one’s transaction', async () => {
  const message = { id: randomUUID() };
  const receiver = createReceiver(async () => {
    await expect(createReceiver().receive(message)).rejects.toThrow(InFlightElsewhereError);
    return 'first';
  });
  expect(await receiver.receive(message)).toMatchObject({ result: 'first' });
});

it('with a plain pool, a connection that is ended in the middle of a handler ends the delivery and not the program', async () => {
  const pool = new pg.Pool({ connectionString: stores.environment.DATABASE_URL ?? '', max: 1 });
  // All that the documentation of pg asks for.
  pool.on('error', () => undefined);
  // It was open before the receiver saw it.
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const message = { id: randomUUID() };
  const receiver = new TransactionalReceiver<Message, unknown, Schema>({
    db: pool,
    idOf: ({ id }) => id,
    handler: async (_, tx) => {
      const isGone = () => sql`select 1 from pg_stat_activity where pid = ${rows[0]?.pid}`.execute(db);
      await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(db);
      await eventually(async () => expect((await isGone()).rows).toEqual([]));
      return await applyEffect(message, tx);
    },
  });
  await expect(receiver.receive(message)).rejects.toThrow();
  expect(await countEffects(message.id)).toBe(0);
  expect(
    await new TransactionalReceiver({ db: pool, idOf: ({ id }: Message) => id, handler: () => 'later' }).receive(
      message,
    ),
  ).toMatchObject({ result: 'later' });
  await pool.end();
});

it('a handler that fails leaves nothing, at once or later', async () => {
  const [message, failure] = [{ id: randomUUID() }, new Error('no paper')];
  const failing = createReceiver(async (_message, tx) => {
    await applyEffect(message, tx);
    throw failure;
  });
  const failingAtOnce = createReceiver(() => {
    throw failure;
  });
  await expect(failing.receive(message)).rejects.toBe(failure);
  await expect(failingAtOnce.receive(message)).rejects.toBe(failure);
  expect(await countEffects(message.id)).toBe(0);
  expect(await createReceiver().receive(message)).toMatchObject({ duplicate: false });
});

it('a crash in the middle leaves nothing, and there is no lease to wait for', async () => {
  const message = { id: randomUUID() };
  const crashing = createReceiver(async (_message, tx) => {
    await applyEffect(message, tx);
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(db);
    return 'done, it thinks';
  });
  const error = await crashing.receive(message).catch((reason) => reason);
  expect(error).toBeInstanceOf(StoreAwayError);
  expect(error).toMatchObject({ handlerRan: true });
  expect(await createReceiver().receive(message)).toMatchObject({ duplicate: false });
  expect(await countEffects(message.id)).toBe(1);
});

it('inside a transaction of the caller it stays or goes with it', async () => {
  const [receiver, message] = [createReceiver(), { id: randomUUID() }];
  const undone = db.transaction().execute(async (tx) => {
    await receiver.receiveIn(tx, message);
    throw new Error('changed my mind');
  });
  await expect(undone).rejects.toThrow('changed my mind');
  expect(await countEffects(message.id)).toBe(0);
  const receipt = await db.transaction().execute((tx) => receiver.receiveIn(tx, message));
  expect(receipt).toMatchObject({ duplicate: false });
  expect(await receiver.receive(message)).toMatchObject({ duplicate: true });
  expect(await countEffects(message.id)).toBe(1);
});

it('a message that a receiver with a lease holds is in flight', async () => {
  const [message, store] = [{ id: randomUUID() }, new PostgresDedupStore({ db })];
  const [key, token] = [{ namespace: 'default', id: message.id }, randomUUID()];
  await store.take(key, token);
  await expect(createReceiver().receive(message)).rejects.toThrow(InFlightElsewhereError);
  await store.finish(key, token, '"elsewhere"');
  expect(await createReceiver().receive(message)).toMatchObject({ result: 'elsewhere', duplicate: true });
});

it('a result beyond the bound is refused to all, and the effect stays single', async () => {
  const receiver = new TransactionalReceiver<Message, unknown, Schema>({
    db,
    maxResultBytes: 10,
    handler: applyEffect,
    idOf: ({ id }) => id,
  });
  const message = { id: randomUUID() };
  for (const _ of [1, 2]) await expect(receiver.receive(message)).rejects.toThrow(UnstorableResultError);
  expect(await countEffects(message.id)).toBe(1);
});

it('a database that is away refuses before the handler runs; a message without an id is refused, too', async () => {
  let runs = 0;
  const handler = () => ++runs;
  const gone = openTestDatabase('postgres://nobody@127.0.0.1:1/nothing');
  const receiver = new TransactionalReceiver({ db: gone, handler, idOf: ({ id }: Partial<Message>) => id });
  const error = await receiver.receive({ id: 'a' }).catch((reason) => reason);
  expect(error).toBeInstanceOf(StoreAwayError);
  expect(error).toMatchObject({ handlerRan: false });
  await expect(receiver.receive({})).rejects.toThrow(MissingIdError);
  expect(runs).toBe(0);
  await gone.destroy();
});

it('takes a pool of pg as well', async () => {
  const pool = new pg.Pool({ connectionString: stores.environment.DATABASE_URL });
  const message = { id: randomUUID() };
  const receiver = new TransactionalReceiver({
    db: pool,
    idOf: ({ id }: Message) => id,
    handler: async ({ id }, tx) => {
      await sql`insert into effects (message) values (${id})`.execute(tx);
    },
  });
  expect(await receiver.receive(message)).toEqual({ result: undefined, duplicate: false, recorded: true });
  expect(await countEffects(message.id)).toBe(1);
  await pool.end();
});
