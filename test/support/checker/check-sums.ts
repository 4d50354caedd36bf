import { ask, type Evidence, type Question } from './evidence.ts';

/** S: money is neither made nor lost, no limit is broken, and the counts that are kept are the truth. */
const questions: readonly Question[] = [
  {
    violation: 'a ledger that does not sum to zero',
    sql: 'select sum(amount) from movements having coalesce(sum(amount), 0) <> 0',
  },
  {
    violation: 'transfers whose movements do not cancel out',
    sql: `select t.id from transfers t join movements m on m.operation_id = t.id
      group by t.id having sum(m.amount) <> 0 or max(m.amount) <> max(t.amount)`,
  },
  {
    violation: 'balances that are not the sum of their movements',
    sql: `select a.id, a.balance, sum(m.amount) from accounts a left join movements m on m.account_id = a.id
      where a.kind = 'customer' group by a.id having a.balance <> coalesce(sum(m.amount), 0)`,
  },
  { violation: 'balances beyond the limit', sql: 'select id, balance from accounts where balance < -overdraft_limit' },
  {
    violation: 'moments at which a balance was beyond the limit',
    sql: `select m.id from movements m join accounts a on a.id = m.account_id
      where a.kind = 'customer' and m.balance_after < -a.overdraft_limit`,
  },
  {
    violation: 'balances that do not follow from the one before',
    sql: `select id from (
        select m.id, m.amount, m.balance_after, lag(m.balance_after, 1, 0) over (partition by m.account_id order by m.id) as before
        from movements m join accounts a on a.id = m.account_id where a.kind = 'customer') chain
      where balance_after <> before + amount`,
  },
  {
    violation: 'batches whose counts are not those of their entries',
    sql: `select b.mailing_id, b.batch from mailing_batches b left join mailing_entries e
        on e.mailing_id = b.mailing_id and e.line between b.from_line and b.to_line
      group by b.mailing_id, b.batch having
        b.pending <> count(*) filter (where e.status = 'PENDING') or b.sending <> count(*) filter (where e.status = 'SENDING')
        or b.sent <> count(*) filter (where e.status = 'SENT') or b.failed <> count(*) filter (where e.status = 'FAILED')
        or b.unknown <> count(*) filter (where e.status = 'UNKNOWN')`,
  },
  {
    violation: 'mailings whose entries are not their lines without duplicates',
    sql: `select m.id, m.lines, m.duplicates, count(e.line) from mailings m left join mailing_entries e on e.mailing_id = m.id
      where m.status = 'COMPLETED' group by m.id having count(e.line) <> m.lines - m.duplicates`,
  },
];

export async function checkSums({ db }: Evidence): Promise<string[]> {
  return await ask(db, questions);
}
