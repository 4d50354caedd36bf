import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** One step of a walk over old rows. */
export interface TrimmedPage {
  deleted: number;
  /** The last id that was looked at: where the next step goes on. Null: there was nothing. */
  last: string | null;
}

export interface TrimStep {
  /** Older rows go. */
  before: Date;
  after: string | null;
  limit: number;
}

/** Events whose every consumer is done. Their ids begin with a time, so that the oldest are the first in the index. */
export async function deleteOldEvents(db: Database, { before, after, limit }: TrimStep): Promise<TrimmedPage> {
  const result = await sql<TrimmedPage>`
    with page as materialized (
      select id, created_at from events where id > ${after ?? ''} and id < ${firstIdAt(before)} order by id limit ${limit}
    ), deleted as (
      delete from events e using page where e.id = page.id and page.created_at < ${before}
        and not exists (select 1 from outbox o where o.queue = 'notifications' and o.data ->> 'eventId' = e.id)
      returning 1
    )
    select (select max(id) from page) as last, (select count(*) from deleted)::integer as deleted`.execute(db);
  return result.rows[0] ?? { deleted: 0, last: null };
}

/** Deliveries that ended. Not before their event is gone, which would otherwise be delivered once more if it came again. */
export async function deleteOldDeliveries(db: Database, { before, after, limit }: TrimStep): Promise<TrimmedPage> {
  const result = await sql<TrimmedPage>`
    with page as materialized (
      select id, event_id, status, created_at from webhook_deliveries
      where id > ${after ?? nilId}::uuid and id < ${firstIdAt(before)}::uuid order by id limit ${limit}
    ), deleted as (
      delete from webhook_deliveries d using page where d.id = page.id and page.status <> 'PENDING'
        and d.status <> 'PENDING' and page.created_at < ${before}
        and not exists (select 1 from events e where e.id = page.event_id)
      returning 1
    )
    select (select max(id::text) from page) as last, (select count(*) from deleted)::integer as deleted`.execute(db);
  return result.rows[0] ?? { deleted: 0, last: null };
}

/** What the operator was told. Not before its event is gone, for the same reason. */
export async function deleteOldAlerts(db: Database, { before, limit }: Omit<TrimStep, 'after'>): Promise<number> {
  const result = await sql`
    delete from alerts where event_id in (
      select event_id from alerts a where status = 'SENT' and sent_at < ${before}
        and not exists (select 1 from events e where e.id = a.event_id)
      order by sent_at limit ${limit} for update skip locked)
    returning 1`.execute(db);
  return result.rows.length;
}

/**
 * Outbox rows that were set aside. Those of an operation or a mailing go only once it is over, for they are all that is
 * left of a job that somebody waits for.
 */
export async function deleteOldQuarantine(db: Database, { before, limit }: Omit<TrimStep, 'after'>): Promise<number> {
  const result = await sql`
    delete from outbox where id in (
      select id from outbox o where quarantined_at < ${before}
        and not exists (
          select 1 from records r
          where o.queue = 'operations' and r.id = (o.data ->> 'recordId')::uuid and r.settled_at is null)
        and not exists (
          select 1 from mailings m where o.queue = 'mailings' and m.id = (o.data ->> 'mailingId')::uuid
            and m.status in ('QUEUED', 'INGESTING', 'SENDING', 'PAUSED'))
      order by quarantined_at limit ${limit} for update skip locked)
    returning 1`.execute(db);
  return result.rows.length;
}

/** What is needed of a dead letter to find its job. */
export interface DeletedDeadLetter {
  id: string;
  client: string;
  sub_client: string;
  operation: string;
  key: string | null;
  generation: number;
}

/** Dead letters that nobody looked after in time. The id is that of their record. */
export async function deleteOldDeadLetters(
  db: Database,
  { before, limit }: Omit<TrimStep, 'after'>,
): Promise<DeletedDeadLetter[]> {
  const result = await sql<DeletedDeadLetter>`
    delete from dead_letters where id in (
      select id from dead_letters where created_at < ${before} order by created_at limit ${limit} for update skip locked)
    returning record_id as id, client, sub_client, operation, key, generation`.execute(db);
  return result.rows;
}

const nilId = '00000000-0000-0000-0000-000000000000';

/** Ids are UUIDs of version 7, which begin with the milliseconds: none that is made from this time on is smaller. */
function firstIdAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
