import { type Generated, type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Instant, Json, NullableInstant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

export interface OutboxTable {
  id: string;
  queue: string;
  name: string;
  job_id: string;
  data: Json<Record<string, unknown>>;
  attempts: Generated<number>;
  next_attempt_at: Instant;
  quarantined_at: NullableInstant;
  last_error: string | null;
  /** True: the row is removed by whoever consumes its job, and until then the job is added again and again. */
  stays: Generated<boolean>;
  created_at: Instant;
}

export type OutboxRow = Selectable<OutboxTable>;

export async function addToOutbox(
  tx: DatabaseTransaction,
  row: { queue: string; name: string; jobId: string; data: Record<string, unknown>; delayMs: number },
): Promise<string> {
  const id = uuidv7();
  await tx
    .insertInto('outbox')
    .values({
      id,
      queue: row.queue,
      name: row.name,
      job_id: row.jobId,
      data: JSON.stringify(row.data),
      next_attempt_at: sql<Date>`now() + make_interval(secs => ${row.delayMs / 1000})`,
    })
    .execute();
  return id;
}

/** A job whose outbox row stays until whoever does it removes the row, by the id that is in the job. */
export interface StayingJob {
  name: string;
  jobId: string;
  data: { outboxId: string; [detail: string]: unknown };
}

/** Whoever calls this adds the job as well; the relay comes by if that failed, and until the row is removed. */
export async function addStayingToOutbox(
  tx: DatabaseTransaction,
  row: { queue: string; name: string; about: string; data: Record<string, unknown> },
): Promise<StayingJob> {
  const id = uuidv7();
  const job = { name: row.name, jobId: `${row.name}~${row.about}~${id}`, data: { ...row.data, outboxId: id } };
  await sql`
    insert into outbox (id, queue, name, job_id, data, next_attempt_at, stays)
    values (${id}::uuid, ${row.queue}, ${job.name}, ${job.jobId}, ${JSON.stringify(job.data)}::jsonb,
      now() + interval '2 seconds', true)`.execute(tx);
  return job;
}

/**
 * Takes rows that are due and pushes their next attempt away, in one statement: no lock is held while Redis is
 * called, and a relay that dies leaves rows that come back by themselves. The pause doubles up to a minute.
 */
export async function claimOutbox(db: Database, limit: number): Promise<OutboxRow[]> {
  const result = await sql<OutboxRow>`
    update outbox set attempts = attempts + 1,
      next_attempt_at = now() + make_interval(secs => least(60, 2 * power(2, least(attempts, 10))))
    where id in (
      select id from outbox where next_attempt_at <= now() and quarantined_at is null
      order by next_attempt_at limit ${limit} for update skip locked)
    returning *`.execute(db);
  return result.rows;
}

export async function removeFromOutbox(db: Database, ids: readonly string[]): Promise<void> {
  await sql`delete from outbox where id = any (${ids}::uuid[])`.execute(db);
}

/** The jobs of rows that stay are in Redis now. If Redis loses them, the relay adds them again after the pause. */
export async function postponeInOutbox(db: Database, ids: readonly string[], delayMs: number): Promise<void> {
  await sql`
    update outbox set attempts = 0, next_attempt_at = now() + make_interval(secs => ${delayMs / 1000})
    where id = any (${ids}::uuid[])`.execute(db);
}

/** Redis was away: that is not the rows' fault, so the attempt does not count. */
export async function returnToOutbox(db: Database, ids: readonly string[], delayMs: number): Promise<void> {
  await sql`
    update outbox set attempts = greatest(0, attempts - 1), next_attempt_at = now() + make_interval(secs => ${delayMs / 1000})
    where id = any (${ids}::uuid[])`.execute(db);
}

export async function noteOutboxFailure(db: Database, id: string, error: string, maxAttempts: number): Promise<void> {
  await sql`
    update outbox set last_error = ${error}, quarantined_at = case when attempts >= ${maxAttempts} then now() end
    where id = ${id}::uuid`.execute(db);
}

/** Which of the jobs are in the outbox. Reads all of it: for a few that are missing elsewhere. */
export async function listJobsInOutbox(db: Database, jobIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ job_id: string }>`
    select job_id from outbox where job_id = any (${jobIds}::text[])`.execute(db);
  return rows.map((row) => row.job_id);
}

export async function describeOutbox(
  db: Database,
): Promise<{ pending: number; quarantined: number; lagSeconds: number }> {
  const row = await db
    .selectFrom('outbox')
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere('quarantined_at', 'is', null).as('pending'),
      eb.fn.countAll<number>().filterWhere('quarantined_at', 'is not', null).as('quarantined'),
      sql<number | null>`extract(epoch from now() - min(created_at) filter (where quarantined_at is null))::float8`.as(
        'lag',
      ),
    ])
    .executeTakeFirstOrThrow();
  return { pending: row.pending, quarantined: row.quarantined, lagSeconds: row.lag ?? 0 };
}
