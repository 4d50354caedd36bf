import { type ColumnType, type Generated, type Selectable, sql } from 'kysely';
import type { Instant, Json, NullableInstant } from './columns.ts';
import type { Database } from './database.ts';

export const invariantNames = ['ledger_imbalance', 'unfinished_without_job', 'entries_sent_twice'] as const;
export type InvariantName = (typeof invariantNames)[number];

/** When an invariant was last checked, and how many violations are known. */
export interface InvariantsTable {
  name: InvariantName;
  violations: Generated<number>;
  /** How far the check has come; each has words of its own. */
  state: ColumnType<Record<string, unknown>, never, string>;
  round: Generated<number>;
  started_at: Instant;
  checked_at: NullableInstant;
}

/** What a check has found, until it is mended or somebody has seen it. */
export interface InvariantFaultsTable {
  id: Generated<string>;
  invariant: InvariantName;
  subject: string;
  detail: Json<Record<string, unknown>>;
  found_at: Instant;
  acknowledged_at: NullableInstant;
  acknowledged_by: string | null;
  note: string | null;
}

export type InvariantFaultRow = Selectable<InvariantFaultsTable>;

export interface Round {
  name: InvariantName;
  round: number;
  state: Record<string, unknown>;
}

/** Takes those checks that are due. Whoever takes one does it for all processes; one who dies is followed by the next. */
export async function beginRounds(db: Database, pauseMs: number): Promise<Round[]> {
  const { rows } = await sql<Round>`
    update invariants set round = round + 1, started_at = clock_timestamp()
    where name in (
      select name from invariants where started_at <= clock_timestamp() - make_interval(secs => ${pauseMs / 1000})
      for update skip locked)
    returning name, round, state`.execute(db);
  return rows;
}

/** Writes the outcome of a round, unless a later one has begun. */
export async function endRound(
  db: Database,
  { name, round }: Round,
  outcome: { violations: number; state: Record<string, unknown> },
): Promise<void> {
  await db
    .updateTable('invariants')
    .set({
      violations: outcome.violations,
      state: JSON.stringify(outcome.state),
      checked_at: sql<Date>`clock_timestamp()`,
    })
    .where('name', '=', name)
    .where('round', '=', round)
    .execute();
}

/** One round over the ledger. Returns how far it came. */
export async function checkLedger(db: Database, state: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { rows } = await sql<{ state: Record<string, unknown> }>`
    select check_ledger(${JSON.stringify(state)}::jsonb) as state`.execute(db);
  return rows[0]?.state ?? {};
}

export async function checkSends(db: Database): Promise<void> {
  await sql`select check_sends()`.execute(db);
}

export async function countFaults(db: Database, invariant: InvariantName): Promise<number> {
  const row = await db
    .selectFrom('invariant_faults')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('invariant', '=', invariant)
    .where('acknowledged_at', 'is', null)
    .executeTakeFirstOrThrow();
  return row.count;
}

/** Null for one that was never checked. */
export async function readInvariants(
  db: Database,
): Promise<{ name: InvariantName; violations: number; checkedAt: Date | null; ageSeconds: number | null }[]> {
  return await db
    .selectFrom('invariants')
    .select(['name', 'violations', 'checked_at as checkedAt'])
    .select(sql<number | null>`extract(epoch from clock_timestamp() - checked_at)::float8`.as('ageSeconds'))
    .orderBy('name')
    .execute();
}

export async function listFaults(
  db: Database,
  page: { limit: number; after?: string | undefined },
): Promise<InvariantFaultRow[]> {
  let query = db.selectFrom('invariant_faults').selectAll();
  if (page.after) query = query.where('id', '>', page.after);
  return await query.orderBy('id').limit(page.limit).execute();
}

/** Somebody has seen it: it is counted no more, unless it happens again. Undefined if there is no such fault. */
export async function acknowledgeFault(
  db: Database,
  fault: { id: string; by: string; note: string },
): Promise<InvariantFaultRow | undefined> {
  return await db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable('invariant_faults')
      .set({ acknowledged_at: sql<Date>`now()`, acknowledged_by: fault.by, note: fault.note })
      .where('id', '=', fault.id)
      .returningAll()
      .executeTakeFirst();
    // The next round would count anew; whoever looks meanwhile sees it at once.
    if (row) {
      await sql`update invariants set violations = (
        select count(*) from invariant_faults where invariant = ${row.invariant} and acknowledged_at is null)
        where name = ${row.invariant}`.execute(tx);
    }
    return row;
  });
}
