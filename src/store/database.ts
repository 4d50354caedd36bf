import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import type { Schema } from './schema.ts';

export type Database = Kysely<Schema>;
export type DatabaseTransaction = Transaction<Schema>;

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  applicationName: string;
  /** A session that holds a transaction open and says nothing for this long is ended by Postgres. */
  idleInTransactionTimeoutMs: number;
  /** False: a commit does not wait for the disk. A crash of Postgres may undo the last half second, and nothing else. */
  synchronousCommit?: boolean;
  onError: (error: Error) => void;
}

/** How long a request may wait for a connection. Postgres away must be answered with 503 in under two seconds. */
const connectTimeoutMs = 1_200;

/** Far more than the largest statement needs on a slow disk. */
const copyTimeoutMs = 60_000;

const bigintOid = 20;
const jsonOid = 114;

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: options.applicationName,
    // A worker that was paused inside a transaction must not hold its row locks for longer than its job's lock.
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs,
    ...(options.synchronousCommit === false && { options: '-c synchronous_commit=off' }),
    types: { getTypeParser },
  });
  // A connection that breaks is replaced by the pool; without a listener on both, idle and in use, it would end the
  // process. A worker that wakes up from a long pause finds its transaction ended by Postgres in just this way.
  pool.on('error', options.onError);
  pool.on('connect', (client) => client.on('error', options.onError));
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}

/** A connection outside the pool, for what Kysely has no words for. It is closed when the work ends. */
export async function withClient<T>(
  options: Pick<DatabaseOptions, 'url' | 'onError' | 'idleInTransactionTimeoutMs'>,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: options.url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'semel-copy',
    keepAlive: true,
    // Who takes over from a process that was paused needs the rows that it has locked; see openDatabase.
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs,
    // A COPY whose other side has gone silent is not idle. A chunk takes well under a second.
    statement_timeout: copyTimeoutMs,
  });
  client.on('error', options.onError);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function pingDatabase(db: Database): Promise<void> {
  await sql`select 1`.execute(db);
}

/** Every bigint here is a safe integer by constraint. A `json` column stays text: stored answers replay byte for byte. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (format !== 'binary' && oid === bigintOid) return Number;
  if (format !== 'binary' && oid === jsonOid) return String;
  return pg.types.getTypeParser(oid, format);
}

const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  '53300', // too many connections
  '57P01', // the server is shutting down
  '57P02', // the server crashed
  '57P03', // the server is starting up
  '25P03', // ended by idle_in_transaction_session_timeout
  '28000', // the login is not allowed, as while its password is exchanged
  '28P01', // the password is wrong
]);

const unavailableMessage =
  /timeout exceeded when trying to connect|Connection terminated|connection error|not queryable/i;

/** Whether an error says "Postgres is away" as opposed to "this statement is wrong". */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  const code = sqlStateOf(error);
  if (code !== undefined && (unavailableCodes.has(code) || code.startsWith('08'))) return true;
  return error instanceof Error && unavailableMessage.test(error.message);
}

const transientCodes = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // lock timeout
  '57014', // statement timeout
]);

/** Whether the same statement may well succeed a moment later. */
export function isTransient(error: unknown): boolean {
  const code = sqlStateOf(error);
  return isDatabaseUnavailable(error) || (code !== undefined && transientCodes.has(code));
}

export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
