import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database.ts';
import type { RecordRow } from '../records.ts';

/** What is needed of a record to find its jobs, and where it is in the order. */
export type ExpiredRecord = Pick<
  RecordRow,
  'id' | 'client' | 'sub_client' | 'operation' | 'key' | 'generation' | 'status'
> & {
  /** As text, because a Date would lose the microseconds, and with them the place. */
  expired: string;
};

/**
 * Expired records, in the order in which they expired. A failed one stays for as long as it has a dead letter: it holds
 * the request that an operator may want to run again. `after` is the last of the page before, so that a walk never
 * meets again what it could not delete.
 */
export async function listExpiredRecords(
  db: Database,
  page: { after: ExpiredRecord | undefined; limit: number },
): Promise<ExpiredRecord[]> {
  const { after, limit } = page;
  const isLater = after
    ? sql`(expires_at, id) > (${after.expired}::text::timestamptz, ${after.id}::uuid)`
    : sql`expires_at is not null`;
  const result = await sql<ExpiredRecord>`
    select id, client, sub_client, operation, key, generation, status, expires_at::text as expired
    from records r
    where ${isLater} and expires_at <= now()
      and (status in ('SUCCEEDED', 'REJECTED')
        or (status = 'FAILED' and not exists (select 1 from dead_letters d where d.record_id = r.id)))
    order by expires_at, id limit ${limit}`.execute(db);
  return result.rows;
}

/** Deletes those of the given records that are expired and final, and returns how many there were. */
export async function deleteExpiredRecords(db: Database, ids: readonly string[]): Promise<number> {
  const result = await sql<{ deleted: number }>`
    select delete_expired_records(${ids}::uuid[]) as deleted`.execute(db);
  return result.rows[0]?.deleted ?? 0;
}

/**
 * Unfinished records that nothing has happened to for so long, and that do not wait for their next attempt; a hundred
 * thousand at most. Ids begin with the time, so that of a long backlog only what is old enough is looked at.
 */
export async function countStuckRecords(db: Database, untouchedMs: number): Promise<number> {
  const since = new Date(Date.now() - untouchedMs);
  const newestId = uuidv7({ msecs: since.getTime(), seq: 0, random: new Uint8Array(16) });
  const { rows } = await sql<{ stuck: number }>`
    select count(*) as stuck from (
      select 1 from records where settled_at is null and id < ${newestId}::uuid
        and greatest(updated_at, next_attempt_at) < ${since} limit 100000) stuck`.execute(db);
  return rows[0]?.stuck ?? 0;
}
