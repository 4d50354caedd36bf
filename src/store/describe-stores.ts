import { sql } from 'kysely';
import type { Database } from './database.ts';
import { countStuckRecords } from './housekeeping/expired-records.ts';
import { type RecordStatus, recordStatuses } from './records.ts';

export interface DatabaseDescription {
  records: Record<RecordStatus, number>;
  stuck: number;
  deadLetters: number;
  outbox: { pending: number; quarantined: number; lagSeconds: number };
}

/** Read whole, this many pages take a few milliseconds. A larger table is sampled. */
const sampledPages = 2_000;
/** Unfinished records are counted one by one up to here; beyond it the sample says enough. */
const maxCounted = 100_000;
export const stuckAfterMs = 30 * 60_000;
/** The relay comes every two seconds. What is due for longer does not get through. */
const relayGraceSeconds = 5;

/** What operators watch, at a cost that does not grow with the tables. */
export async function describeDatabase(db: Database): Promise<DatabaseDescription> {
  const [records, stuck, deadLetters, outbox] = await Promise.all([
    countRecords(db),
    countStuckRecords(db, stuckAfterMs),
    countDeadLetters(db),
    describePending(db),
  ]);
  return { records, stuck, deadLetters, outbox };
}

/**
 * Unfinished and unknown ones are counted by the indexes of just those. The others are counted too while the table is
 * small, and estimated from pages taken at random when it is not.
 */
export async function countRecords(
  db: Database,
  limits: { pages: number; counted: number } = { pages: sampledPages, counted: maxCounted },
): Promise<Record<RecordStatus, number>> {
  const { rows: sizes } = await sql<{ pages: number }>`
    select pg_relation_size('records') / current_setting('block_size')::integer as pages`.execute(db);
  const percent = Math.min(100, (100 * limits.pages) / Math.max(1, sizes[0]?.pages ?? 0));
  const [sampled, unsettled, unresolved] = await Promise.all([
    sql<{ status: RecordStatus; count: number }>`
      select status, count(*) as count from records tablesample system (${percent}) group by status`.execute(db),
    sql<{ status: RecordStatus; count: number }>`
      select status, count(*) as count
      from (select status from records where settled_at is null limit ${limits.counted}) unsettled
      group by status`.execute(db),
    sql<{ count: number }>`
      select count(*) as count from records where settled_at is not null and expires_at is null`.execute(db),
  ]);
  const counts = Object.fromEntries(recordStatuses.map((status) => [status, 0])) as Record<RecordStatus, number>;
  for (const { status, count } of sampled.rows) counts[status] = Math.round((count * 100) / percent);
  const counted = unsettled.rows.reduce((sum, { count }) => sum + count, 0);
  if (counted < limits.counted) {
    counts.QUEUED = 0;
    counts.PROCESSING = 0;
    for (const { status, count } of unsettled.rows) counts[status] = count;
  }
  counts.UNKNOWN = unresolved.rows[0]?.count ?? 0;
  return counts;
}

async function countDeadLetters(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from dead_letters`.execute(db);
  return rows[0]?.count ?? 0;
}

/** A row that stays is pending only if it is overdue: until its job is done, it is there to bring a lost job back. */
async function describePending(db: Database): Promise<DatabaseDescription['outbox']> {
  const { rows } = await sql<{ pending: number; quarantined: number; lag: number | null }>`
    select count(*) filter (where is_pending) as pending,
      count(*) filter (where quarantined_at is not null) as quarantined,
      extract(epoch from clock_timestamp() - min(due_at) filter (where is_pending))::float8 as lag
    from (
      select quarantined_at, case when stays then next_attempt_at else created_at end as due_at,
        quarantined_at is null
          and (not stays or next_attempt_at < now() - make_interval(secs => ${relayGraceSeconds})) as is_pending
      from outbox) rows`.execute(db);
  const { pending = 0, quarantined = 0, lag } = rows[0] ?? {};
  return { pending, quarantined, lagSeconds: Math.max(0, lag ?? 0) };
}
