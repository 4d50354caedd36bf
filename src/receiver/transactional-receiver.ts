import { randomUUID } from 'node:crypto';
import {
  finishDedup,
  type Kysely,
  type PostgresPool,
  type Transaction,
  takeDedup,
  toKysely,
  tryLockDedup,
} from '../store/dedup.ts';
import { type DedupKey, type DedupStoreOptions, readStoreOptions } from './dedup-store.ts';
import { InFlightElsewhereError, LeaseLostError, MissingIdError, StoreAwayError } from './errors.ts';
import type { IdOf } from './id-extractors.ts';
import { defaultPostgresTtlMs } from './postgres-dedup-store.ts';
import type { Receipt } from './receiver-options.ts';
import { checkNamespace, storableIdOf, toIdText } from './storable-id.ts';
import { decodeResult, encodeResult } from './stored-result.ts';
import { takeInPostgres } from './take-in-postgres.ts';

export interface TransactionalReceiverOptions<Message, Result, DB> extends Omit<DedupStoreOptions, 'leaseMs'> {
  /** A pool of `pg`, or a database of `kysely`, with the table `dedup`. */
  db: Kysely<DB> | PostgresPool;
  /** Whatever it writes through `tx` commits together with the mark, or not at all. */
  handler: (message: Message, tx: Transaction<DB>) => Result | Promise<Result>;
  idOf: IdOf<Message>;
  namespace?: string;
}

/**
 * Marks a message and does its work in one transaction of Postgres. A crash at any moment leaves nothing, or all of it:
 * there is no lease to wait for and nothing happens twice. It cannot go on without the database, nor need it.
 */
export class TransactionalReceiver<Message, Result, DB = unknown> {
  readonly #options: TransactionalReceiverOptions<Message, Result, DB>;
  readonly #db: Kysely<DB>;
  readonly #limits: Required<DedupStoreOptions>;
  readonly #namespace: string;

  constructor(options: TransactionalReceiverOptions<Message, Result, DB>) {
    const { ttlMs, maxResultBytes } = options;
    this.#options = options;
    this.#db = toKysely(options.db);
    this.#limits = readStoreOptions(
      { ...(ttlMs !== undefined && { ttlMs }), ...(maxResultBytes !== undefined && { maxResultBytes }) },
      defaultPostgresTtlMs,
    );
    this.#namespace = checkNamespace(options.namespace ?? 'default');
  }

  async receive(message: Message): Promise<Receipt<Result>> {
    const key = this.#keyOf(message);
    const progress = { handlerRan: false, isOurs: false };
    let stored: { text: string; duplicate: boolean };
    try {
      stored = await this.#db.transaction().execute((tx) => this.#run(tx, message, key, progress));
    } catch (error) {
      if (progress.isOurs) throw error;
      throw new StoreAwayError(key, { handlerRan: progress.handlerRan, cause: error });
    }
    return toReceipt(stored);
  }

  /** The same inside a transaction of the caller, who must roll it back if this throws. */
  async receiveIn(tx: Transaction<DB>, message: Message): Promise<Receipt<Result>> {
    return toReceipt(await this.#run(tx, message, this.#keyOf(message), { handlerRan: false, isOurs: false }));
  }

  async #run(
    tx: Transaction<DB>,
    message: Message,
    key: DedupKey,
    progress: { handlerRan: boolean; isOurs: boolean },
  ): Promise<{ text: string; duplicate: boolean }> {
    // `isOurs` marks the errors that do not come from the database: they are passed on as they are.
    const fail = (error: unknown): never => {
      progress.isOurs = true;
      throw error;
    };
    // Without the lock, a duplicate would wait for the end of the first one's transaction.
    if (!(await tryLockDedup(tx, key))) return fail(new InFlightElsewhereError(key, 0));
    const token = randomUUID();
    const taken = await takeInPostgres(() => takeDedup(tx, key, { token, leaseMs: this.#limits.leaseMs }));
    if (taken.state === 'done') return { text: taken.result, duplicate: true };
    if (taken.state === 'in-flight') return fail(new InFlightElsewhereError(key, taken.freeInMs));
    const handle = async () => await this.#options.handler(message, tx);
    const result = await handle().catch(fail);
    progress.handlerRan = true;
    const text = encodeResult(result, this.#limits.maxResultBytes);
    // The row is ours until we commit; only a handler that meddles with the table could take it away.
    if (!(await finishDedup(tx, key, { token, result: text, ttlMs: this.#limits.ttlMs })))
      fail(new LeaseLostError(key));
    return { text, duplicate: false };
  }

  #keyOf(message: Message): DedupKey {
    const id = toIdText(this.#options.idOf(message));
    if (id === undefined) throw new MissingIdError('The message has no id.');
    return { namespace: this.#namespace, id: storableIdOf(id) };
  }
}

function toReceipt<Result>({ text, duplicate }: { text: string; duplicate: boolean }): Receipt<Result> {
  return { result: decodeResult(text) as Result, duplicate, recorded: true };
}
