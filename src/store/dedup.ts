import { EventEmitter } from 'node:events';
import { type ColumnType, Kysely, PostgresDialect, type PostgresPool, type QueryExecutorProvider, sql } from 'kysely';
import { up as createTable } from './migrations/0008_dedup.ts';

export type { Kysely, PostgresPool, QueryExecutorProvider, Transaction } from 'kysely';

export interface DedupTable {
  /** The consumer group. */
  namespace: string;
  message_id: string;
  state: 'IN_FLIGHT' | 'DONE';
  /** The fence: who took the message last. */
  token: string;
  result: string | null;
  taken_at: ColumnType<Date, Date | undefined, Date>;
  expires_at: Date;
}

export interface DedupKey {
  readonly namespace: string;
  readonly id: string;
}

export type DedupRow = { state: 'TAKEN' | 'IN_FLIGHT' | 'DONE'; result: string | null; free_in_ms: number };

/** A database of the caller's own types, from whatever the caller has. */
export function toKysely<DB>(source: Kysely<DB> | PostgresPool): Kysely<DB> {
  return 'connect' in source ? new Kysely<DB>({ dialect: new PostgresDialect({ pool: guardPool(source) }) }) : source;
}

/**
 * A connection that breaks while it is in use emits `error`, and a program whose pool nobody prepared for that would end.
 * Whoever uses the connection is told anyway: its statement fails.
 */
function guardPool(pool: PostgresPool): PostgresPool {
  return {
    connect: async () => {
      const client = await pool.connect();
      // Other receivers on the same pool may have been here before.
      const isOpen = client instanceof EventEmitter && !client.listeners('error').includes(ignoreError);
      if (isOpen) client.on('error', ignoreError);
      return client;
    },
    end: () => pool.end(),
  };
}

function ignoreError(): void {}

/** For programs with a database of their own; Semel's has the table by its migrations. */
export async function createDedupTable<DB>(db: Kysely<DB>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // An arbitrary number: programs that start at the same time create it one after the other.
    await sql`select pg_advisory_xact_lock(5344)`.execute(tx);
    const { rows } = await sql<{ exists: boolean }>`select to_regclass('dedup') is not null as exists`.execute(tx);
    if (rows[0]?.exists === false) await createTable(tx as unknown as Kysely<unknown>);
  });
}

/**
 * Takes a message that is free, expired or held under this token already. Undefined if somebody else's row came in
 * between: this statement sees neither theirs, which is too new, nor makes its own, so the caller asks again.
 */
export async function takeDedup(
  db: QueryExecutorProvider,
  { namespace, id }: DedupKey,
  { token, leaseMs }: { token: string; leaseMs: number },
): Promise<DedupRow | undefined> {
  const { rows } = await sql<DedupRow>`
    with taken as (
      insert into dedup (namespace, message_id, state, token, expires_at)
      values (${namespace}, ${id}, 'IN_FLIGHT', ${token}, ${inMs(leaseMs)})
      on conflict (namespace, message_id) do update
      set state = 'IN_FLIGHT', token = excluded.token, result = null, taken_at = excluded.taken_at,
        expires_at = excluded.expires_at
      where dedup.expires_at <= statement_timestamp() or (dedup.state = 'IN_FLIGHT' and dedup.token = excluded.token)
      returning 1
    )
    select 'TAKEN' as state, null as result, 0::float8 as free_in_ms from taken
    union all
    select state, result, extract(epoch from expires_at - statement_timestamp())::float8 * 1000 from dedup
    where namespace = ${namespace} and message_id = ${id} and expires_at > statement_timestamp()
      and not exists (select 1 from taken)`.execute(db);
  return rows[0];
}

/** False if somebody else has taken the message since, and holds it or has finished it. */
export async function finishDedup(
  db: QueryExecutorProvider,
  { namespace, id }: DedupKey,
  { token, result, ttlMs }: { token: string; result: string; ttlMs: number },
): Promise<boolean> {
  const { rows } = await sql`
    insert into dedup (namespace, message_id, state, token, result, expires_at)
    values (${namespace}, ${id}, 'DONE', ${token}, ${result}, ${inMs(ttlMs)})
    on conflict (namespace, message_id) do update
    set state = 'DONE', token = excluded.token, result = excluded.result, expires_at = excluded.expires_at
    where dedup.token = excluded.token or dedup.expires_at <= statement_timestamp()
    returning 1`.execute(db);
  return rows.length === 1;
}

export async function releaseDedup(
  db: QueryExecutorProvider,
  { namespace, id }: DedupKey,
  token: string,
): Promise<void> {
  await sql`
    delete from dedup
    where namespace = ${namespace} and message_id = ${id} and token = ${token} and state = 'IN_FLIGHT'`.execute(db);
}

/** One batch. A row that somebody takes at this moment is left to them. */
export async function deleteExpiredDedup(db: QueryExecutorProvider, batchSize: number): Promise<number> {
  const { rows } = await sql`
    delete from dedup where (namespace, message_id) in (
      select namespace, message_id from dedup where expires_at <= statement_timestamp()
      order by expires_at limit ${batchSize} for update skip locked)
    returning 1`.execute(db);
  return rows.length;
}

/** Held until the transaction ends. Two messages may share a lock by chance, which costs one of them another try. */
export async function tryLockDedup(tx: QueryExecutorProvider, { namespace, id }: DedupKey): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`dedup:${namespace}:${id}`}, 0)) as locked`.execute(tx);
  return rows[0]?.locked === true;
}

/** By the clock of the statement: inside a long transaction, now() would be long ago. */
function inMs(durationMs: number) {
  return sql`statement_timestamp() + make_interval(secs => ${durationMs}::float8 / 1000)`;
}
