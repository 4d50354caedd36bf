import { checkChains } from './check-chains.ts';
import { ask, type Evidence, type Question } from './evidence.ts';

/** The transitions that there are; see the diagram of a record's states. */
const legal = [
  'QUEUED>PROCESSING',
  'PROCESSING>PROCESSING',
  'PROCESSING>QUEUED',
  'PROCESSING>SUCCEEDED',
  'PROCESSING>REJECTED',
  'PROCESSING>FAILED',
  'PROCESSING>UNKNOWN',
  'FAILED>QUEUED',
  'UNKNOWN>QUEUED',
  'UNKNOWN>SUCCEEDED',
  'UNKNOWN>FAILED',
  'SUCCEEDED>EXPIRED',
  'REJECTED>EXPIRED',
  'FAILED>EXPIRED',
];

/** A: every transition left its row, the rows of a record are numbered without a gap, and each follows from the last. */
const questions: readonly Question[] = [
  {
    violation: 'trails with a gap',
    sql: `select r.id, r.transitions, count(a.seq) from records r left join audit a on a.record_id = r.id
      group by r.id, r.transitions
      having count(a.seq) <> r.transitions or max(a.seq) <> r.transitions or min(a.seq) <> 1`,
  },
  {
    violation: 'rows that do not follow from the one before',
    sql: `select record_id, seq from (
        select record_id, seq, from_status, lag(to_status) over (partition by record_id order by seq) as before from audit) a
      where from_status is distinct from before`,
  },
  {
    violation: 'transitions that do not exist',
    sql: `select record_id, seq, from_status, to_status from audit
      where (from_status is null and to_status <> 'QUEUED')
        or from_status || '>' || to_status <> all ('{${legal.join(',')}}'::text[])`,
  },
  {
    violation: 'trails that end elsewhere than their record',
    sql: `select r.id, r.status, a.to_status from records r join audit a on a.record_id = r.id and a.seq = r.transitions
      where a.to_status <> r.status or a.epoch <> r.epoch`,
  },
  {
    violation: 'trails whose epoch goes back, or stays at a claim',
    sql: `select record_id, seq from (
        select record_id, seq, to_status, epoch, lag(epoch) over (partition by record_id order by seq) as before from audit) a
      where epoch < before or (to_status = 'PROCESSING' and epoch <> before + 1)`,
  },
  {
    violation: 'records that gave up without a dead letter',
    sql: `select r.id from records r where r.status = 'FAILED'
      and not exists (select 1 from dead_letters d where d.record_id = r.id and d.generation = r.generation)`,
  },
  {
    violation: 'histories of mailings that do not lead to their state',
    sql: `select m.id, m.status from mailings m where m.status <> (
      select h.to_status from mailing_history h where h.mailing_id = m.id order by h.id desc limit 1)`,
  },
];

export async function checkTrail({ db }: Evidence): Promise<string[]> {
  const [trails, chains] = await Promise.all([ask(db, questions), checkChains(db)]);
  return [...trails, ...chains];
}
