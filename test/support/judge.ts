import { sql } from 'kysely';
import { expect } from 'vitest';
import { type AuditFault, verifyAudit } from '../../src/store/audit-verify.ts';
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
 * money adds up, and every record's audit trail is a whole chain that leads from its beginning to its state.
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
    'transfers without exactly one event': sql`
      select 1 from transfers t left join events e on e.record_id = t.id group by t.id having count(e.id) <> 1`,
  };
  for (const [fault, query] of Object.entries(faults)) {
    expect(await count(db, query), fault).toBe(0);
  }
  expect(await findAuditFaults(db)).toEqual([]);
}

/** All that the verifier finds. The last rows of chains are compared with their records. */
export async function findAuditFaults(db: Database): Promise<AuditFault[]> {
  const faults: AuditFault[] = [];
  await verifyAudit(db, { onFault: (fault) => faults.push(fault) });
  return faults;
}

async function count(db: Database, query: ReturnType<typeof sql>): Promise<number> {
  return (await query.execute(db)).rows.length;
}
