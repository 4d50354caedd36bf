import { ask, type Evidence, type Question, tell } from './evidence.ts';

/** E in the database: what happened belongs to one record that says so, and happened once. */
const questions: readonly Question[] = [
  {
    violation: 'keys with more than one successful record',
    sql: `select client, sub_client, operation, key, count(*) from records
      where key is not null and status = 'SUCCEEDED' group by 1, 2, 3, 4 having count(*) > 1`,
  },
  {
    violation: 'successful records without their effect',
    sql: `select r.id, r.operation from records r where r.status = 'SUCCEEDED' and (
      (r.operation = 'account.open' and not exists (select 1 from accounts x where x.id = r.id)) or
      (r.operation = 'transfer.create' and not exists (select 1 from transfers x where x.id = r.id)) or
      (r.operation = 'customer.create' and not exists (select 1 from customers x where x.id = r.id)) or
      (r.operation = 'proposal.create' and not exists (select 1 from proposals x where x.id = r.id)) or
      (r.operation = 'webhook.register' and not exists (select 1 from webhooks x where x.id = r.id)) or
      (r.operation = 'mailing.upload' and not exists (select 1 from mailings x where x.id = r.id)))`,
  },
  {
    violation: 'effects without a record that says so',
    sql: `select x.id, x.what, r.status from (
        select id, 'account' as what from accounts where kind = 'customer'
        union all select id, 'transfer' from transfers union all select id, 'customer' from customers
        union all select id, 'proposal' from proposals union all select id, 'mailing' from mailings
      ) x left join records r on r.id = x.id where r.status is distinct from 'SUCCEEDED'`,
  },
  {
    violation: 'transfers without exactly two movements',
    sql: `select t.id, count(m.id) from transfers t left join movements m on m.operation_id = t.id
      group by t.id having count(m.id) <> 2`,
  },
  {
    violation: 'movements of nothing',
    sql: `select m.id from movements m where not exists (select 1 from transfers t where t.id = m.operation_id)
      and not exists (select 1 from accounts a where a.id = m.operation_id)`,
  },
  {
    violation: 'proposals whose version is not the count of their transitions',
    sql: `select p.id, p.version, count(r.id) from proposals p left join records r on r.resource_id = p.id
        and r.status = 'SUCCEEDED' and r.operation in ('proposal.submit', 'proposal.accept', 'proposal.reject')
      group by p.id, p.version having p.version <> 1 + count(r.id)`,
  },
  {
    violation: 'causes with more than one event of a type',
    sql: `select record_id, type, count(*) from events where type not in ('operation.failed', 'mailing.completed')
      group by 1, 2 having count(*) > 1`,
  },
  {
    violation: 'transfers without their event',
    sql: `select t.id from transfers t where not exists (
      select 1 from events e where e.record_id = t.id and e.type = 'transfer.completed')`,
  },
  {
    violation: 'files with more than one mailing',
    sql: `select client, filename, content_hash, count(*) from mailings where not keyed and status <> 'FAILED'
      group by 1, 2, 3 having count(*) > 1`,
  },
];

export async function checkEffects(evidence: Evidence): Promise<string[]> {
  const [database, said, mails, webhooks] = await Promise.all([
    ask(evidence.db, questions),
    checkSaid(evidence),
    checkMails(evidence),
    checkWebhooks(evidence),
  ]);
  return [...database, ...said, ...mails, ...webhooks];
}

/** Whoever was told "done" finds it done, with the amount that was told. */
async function checkSaid({ db, journal }: Evidence): Promise<string[]> {
  const { rows } = await db.query<{ id: string; amount: string }>('select id, amount from transfers');
  const kept = new Map(rows.map((row) => [row.id, Number(row.amount)]));
  const missing = [...journal.transfers].filter(([id, amount]) => kept.get(id) !== amount).map(([id]) => id);
  return tell('transfers that a client was told of and that are not there', missing);
}

/** The mail server's own count: each Message-ID once, all that is SENT, and nothing that is not SENT or in doubt. */
async function checkMails({ db, mail, mailsMayRepeat }: Evidence): Promise<string[]> {
  const { rows } = await db.query<{ id: string; status: string }>(
    `select '<' || mailing_id || '.' || line || '@localhost>' as id, status from mailing_entries`,
  );
  const sent = rows.filter((row) => row.status === 'SENT').map((row) => row.id);
  const mayHaveArrived = new Set(rows.filter((row) => ['SENT', 'UNKNOWN'].includes(row.status)).map((row) => row.id));
  const twice = [...mail.taken].filter(([, times]) => times > 1).map(([id]) => id);
  return [
    ...(mailsMayRepeat ? [] : tell('mails that arrived twice', twice)),
    ...tell(
      'mails that are SENT and did not arrive',
      sent.filter((id) => !mail.taken.has(id)),
    ),
    ...tell(
      'mails that arrived and are neither SENT nor UNKNOWN',
      [...mail.taken.keys()].filter((id) => !mayHaveArrived.has(id)),
    ),
  ];
}

/** A webhook may come again, but always as the same: one body for each id, and each id is an event. */
async function checkWebhooks({ db, webhooks }: Evidence): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>('select id from events');
  const events = new Set(rows.map((row) => row.id));
  const applied = [...webhooks.applied];
  return [
    ...tell(
      'webhook ids that came with different bodies',
      applied.filter(([, { bodies }]) => bodies.size > 1).map(([id]) => id),
    ),
    ...tell(
      'webhook ids that are no event',
      applied.filter(([id]) => !events.has(id)).map(([id]) => id),
    ),
  ];
}
