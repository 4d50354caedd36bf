import { type RawBuilder, sql } from 'kysely';
import type { Effect } from '../errors.ts';
import type { Database } from './database.ts';
import type { DeadLetterRow } from './dead-letters.ts';

export interface DeadLetterFilter {
  operation?: string | undefined;
  client?: string | undefined;
  code?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  /** Only the mails of this mailing. */
  mailing?: string | undefined;
}

/** A dead letter, and how that which it is about stands now. */
export type ListedDeadLetter = DeadLetterRow & {
  /** Of the record, or of the entry of a mailing; null if it is gone. */
  status: string | null;
  retryable: boolean;
  effect: Effect;
  /** Where it stands in the list, exactly. */
  position: string;
};

export interface DeadLetterSummary {
  operation: string;
  effect: Effect;
  retryable: boolean;
  count: number;
}

/** Newest first. `after` is the position of the last one of the page before. */
export async function listDeadLetters(
  db: Database,
  filter: DeadLetterFilter,
  page: { limit: number; after: { at: string; id: string } | undefined },
): Promise<ListedDeadLetter[]> {
  const { after } = page;
  const beyond = after ? sql`and (d.created_at, d.id) < (${after.at}::timestamptz, ${after.id}::uuid)` : sql``;
  const result = await sql<ListedDeadLetter>`
    with page as (
      select * from dead_letters d where ${matches(filter)} ${beyond}
      order by d.created_at desc, d.id desc limit ${page.limit})
    select d.*, ${standing},
      to_char(d.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || ' ' || d.id as position
    from page d ${joins} order by d.created_at desc, d.id desc`.execute(db);
  return result.rows;
}

export async function findDeadLetter(db: Database, id: string): Promise<ListedDeadLetter | undefined> {
  const result = await sql<ListedDeadLetter>`
    select d.*, ${standing}, '' as position from dead_letters d ${joins} where d.id = ${id}::uuid`.execute(db);
  return result.rows[0];
}

/** Those that can be retried, oldest first. */
export async function listRetryable(db: Database, filter: DeadLetterFilter, limit: number): Promise<DeadLetterRow[]> {
  const result = await sql<DeadLetterRow>`
    select d.* from dead_letters d ${joins} where ${matches(filter)} and ${isRetryable}
    order by d.created_at, d.id limit ${limit}`.execute(db);
  return result.rows;
}

/** How many there are of each kind. */
export async function summarizeDeadLetters(db: Database, filter: DeadLetterFilter): Promise<DeadLetterSummary[]> {
  const result = await sql<DeadLetterSummary>`
    select operation, effect, retryable, count(*) as count
    from (select d.operation, ${standing} from dead_letters d ${joins} where ${matches(filter)}) s
    group by operation, effect, retryable order by operation, effect, retryable`.execute(db);
  return result.rows;
}

const joins = sql`
  left join records r on d.line is null and r.id = d.record_id
  left join mailings m on d.line is not null and m.id = d.record_id
  left join mailing_entries e on d.line is not null and e.mailing_id = d.record_id and e.line = d.line`;

/** One whose record was run again, or whose mail was sent, since is history. */
const isRetryable = sql`coalesce(case when d.line is null
  then r.status = 'FAILED' and r.generation = d.generation
  else e.status = 'FAILED' and m.status <> 'CANCELLED' end, false)`;

const standing = sql`coalesce(r.status, e.status) as status, ${isRetryable} as retryable,
  case when coalesce(r.status, e.status) in ('SUCCEEDED', 'SENT') then 'applied'
    when coalesce(r.status, e.status) in ('PROCESSING', 'UNKNOWN', 'SENDING') then 'unknown'
    else 'not_applied' end as effect`;

function matches(filter: DeadLetterFilter): RawBuilder<unknown> {
  const conditions = [sql`true`];
  if (filter.operation !== undefined) conditions.push(sql`d.operation = ${filter.operation}`);
  if (filter.client !== undefined) conditions.push(sql`d.client = ${filter.client}`);
  if (filter.code !== undefined) conditions.push(sql`d.error ->> 'code' = ${filter.code}`);
  if (filter.since !== undefined) conditions.push(sql`d.created_at >= ${filter.since}::timestamptz`);
  if (filter.until !== undefined) conditions.push(sql`d.created_at < ${filter.until}::timestamptz`);
  if (filter.mailing !== undefined) {
    conditions.push(sql`d.record_id = ${filter.mailing}::uuid and d.line is not null`);
  }
  return sql.join(conditions, sql` and `);
}
