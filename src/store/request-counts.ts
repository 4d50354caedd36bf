import { sql } from 'kysely';
import type { Instant } from './columns.ts';
import type { Database } from './database.ts';

/** How many requests each API process took of each operation in each hour. Rows hold totals, so writing twice is once. */
export interface RequestCountsTable {
  hour: Instant;
  operation: string;
  process: string;
  requests: number;
  /** The same request under a key that was used before, whatever became of the first. */
  duplicates: number;
  /** Another request under a used key. */
  mismatches: number;
  /** Answers that came from memory or Redis. */
  cache_hits: number;
  /** Answers that could have been there but came from Postgres. */
  cache_misses: number;
}

export interface RequestTotals {
  requests: number;
  duplicates: number;
  mismatches: number;
  cache_hits: number;
  cache_misses: number;
}

/** How far back one may ask. Older rows are deleted. */
export const countedHours = 90 * 24;

export async function writeRequestCounts(
  db: Database,
  process: string,
  rows: readonly (RequestTotals & { hour: Date; operation: string })[],
): Promise<void> {
  await sql`
    insert into request_counts
    select r.hour, r.operation, ${process}::uuid, r.requests, r.duplicates, r.mismatches, r.cache_hits, r.cache_misses
    from jsonb_populate_recordset(null::request_counts, ${JSON.stringify(rows)}::jsonb) r
    order by r.hour, r.operation
    on conflict (hour, operation, process) do update set
      requests = excluded.requests, duplicates = excluded.duplicates, mismatches = excluded.mismatches,
      cache_hits = excluded.cache_hits, cache_misses = excluded.cache_misses`.execute(db);
}

export async function deleteOldRequestCounts(db: Database): Promise<void> {
  await sql`
    delete from request_counts where hour < now() - make_interval(hours => ${countedHours + 2})`.execute(db);
}

/** The sums for each operation, from the hour in which the time asked for begins. */
export async function sumRequestCounts(
  db: Database,
  hours: number,
): Promise<(RequestTotals & { operation: string })[]> {
  const result = await sql<RequestTotals & { operation: string }>`
    select operation, sum(requests)::bigint as requests, sum(duplicates)::bigint as duplicates,
      sum(mismatches)::bigint as mismatches, sum(cache_hits)::bigint as cache_hits,
      sum(cache_misses)::bigint as cache_misses
    from request_counts where hour >= date_trunc('hour', now() - make_interval(hours => ${hours}), 'UTC')
    group by operation order by operation`.execute(db);
  return result.rows;
}
