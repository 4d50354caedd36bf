import { sql } from 'kysely';
import type { DatabaseTransaction } from './database.ts';
import type { Outcome, RecordError, RecordRow } from './records.ts';

/** How long a repair waits for a worker that is inside the transaction of its effect. */
const lockWaitMs = 1_200;

/** The record, locked for the rest of the transaction. Fails with `lockNotAvailableCode` if a worker holds it. */
export async function lockRecord(tx: DatabaseTransaction, id: string): Promise<RecordRow | undefined> {
  await sql`select set_config('lock_timeout', ${`${lockWaitMs}ms`}, true)`.execute(tx);
  return await tx.selectFrom('records').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** The SQLSTATE of a lock that was not had in time. */
export const lockNotAvailableCode = '55P03';

/**
 * Makes a locked record run again: a new generation, so that its job is new to the queue, and another epoch, so that
 * whoever worked on it before can no longer finish.
 */
export async function restartRecord(tx: DatabaseTransaction, id: string): Promise<RecordRow> {
  return await tx
    .updateTable('records')
    .set((eb) => ({
      status: 'QUEUED',
      generation: eb('generation', '+', 1),
      epoch: eb('epoch', '+', 1),
      transitions: eb('transitions', '+', 1),
      attempts: 0,
      error: null,
      next_attempt_at: null,
      settled_at: null,
      expires_at: null,
      updated_at: sql<Date>`now()`,
    }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Settles a locked record whose worker is gone in the middle of its call: nobody can tell what became of it. */
export async function putInDoubt(tx: DatabaseTransaction, id: string, error: RecordError): Promise<RecordRow> {
  return await tx
    .updateTable('records')
    .set((eb) => ({
      status: 'UNKNOWN',
      epoch: eb('epoch', '+', 1),
      transitions: eb('transitions', '+', 1),
      error: JSON.stringify(error),
      next_attempt_at: null,
      settled_at: sql<Date>`now()`,
      expires_at: null,
      updated_at: sql<Date>`now()`,
    }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The truth about a locked record that was UNKNOWN. */
export async function settleDoubt(
  tx: DatabaseTransaction,
  outcome: Omit<Outcome, 'epoch' | 'events' | 'detail'>,
): Promise<RecordRow> {
  return await tx
    .updateTable('records')
    .set((eb) => ({
      status: outcome.status,
      transitions: eb('transitions', '+', 1),
      response_status: outcome.response_status,
      response_body: outcome.response_body,
      error: outcome.error === null ? null : JSON.stringify(outcome.error),
      resource_type: outcome.resource_type,
      resource_id: outcome.resource_id,
      settled_at: sql<Date>`now()`,
      expires_at: sql<Date>`now() + make_interval(secs => ${outcome.ttl_seconds})`,
      updated_at: sql<Date>`now()`,
    }))
    .where('id', '=', outcome.id)
    .where('status', '=', 'UNKNOWN')
    .returningAll()
    .executeTakeFirstOrThrow();
}
