import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { eventually } from './eventually.ts';

/** Waits until no record is unsettled. Thirty seconds cover a takeover on a busy machine. */
export async function allSettled(db: Database, timeoutMs = 30_000): Promise<void> {
  await eventually(async () => expect(await count(db, sql`select 1 from records where settled_at is null`)).toBe(0), {
    timeoutMs,
  });
}

/**
 * Judges by the database alone: each transfer and account happened once and belongs to a record that says so, the
 * money adds up, and every record's audit trail leads without a gap from its beginning to its state.
 */
export async function judge(db: Database): Promise<void> {
  const faults = {
    'records without an effect': sql`
      select 1 from records r where r.status = 'SUCCEEDED' and r.operation in ('account.open', 'transfer.create')
      and not exists (select 1 from transfers t where t.id = r.id) and not exists (select 1 from accounts a where a.id = r.id)`,
    'effects without a record that says so': sql`
      select 1 from transfers t where not exists (select 1 from records r where r.id = t.id and r.status = 'SUCCEEDED')`,
    'transfers whose movements are not exactly two that cancel out': sql`
      select 1 from transfers t left join movements m on m.operation_id = t.id
      group by t.id having count(m.id) <> 2 or sum(m.amount) <> 0`,
    'accounts whose balance is not the sum of their movements': sql`
      select 1 from accounts a left join movements m on m.account_id = a.id where a.kind = 'customer'
      group by a.id having a.balance <> coalesce(sum(m.amount), 0)`,
    'balances beyond the limit': sql`select 1 from accounts where balance < -overdraft_limit`,
    'a ledger that does not sum to zero': sql`select 1 from movements having coalesce(sum(amount), 0) <> 0`,
    'audit trails with a gap': sql`
      select 1 from records r left join audit a on a.record_id = r.id group by r.id, r.transitions
      having count(a.seq) <> r.transitions or max(a.seq) <> r.transitions or min(a.seq) <> 1`,
    'audit rows that do not follow from the one before': sql`
      select 1 from (select from_status, lag(to_status) over (partition by record_id order by seq) as before from audit) a
      where a.from_status is distinct from a.before`,
    'audit trails that end elsewhere than the record': sql`
      select 1 from records r join audit a on a.record_id = r.id and a.seq = r.transitions where a.to_status <> r.status`,
    'transfers without exactly one event': sql`
      select 1 from transfers t left join events e on e.record_id = t.id group by t.id having count(e.id) <> 1`,
  };
  for (const [fault, query] of Object.entries(faults)) {
    expect(await count(db, query), fault).toBe(0);
  }
}

async function count(db: Database, query: ReturnType<typeof sql>): Promise<number> {
  return (await query.execute(db)).rows.length;
}
