import { type Kysely, sql } from 'kysely';

/** Looks for mails that were sent twice, by the traces that `settle_entries` leaves. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function check_sends() returns void language sql as $$
      insert into invariant_faults (invariant, subject, detail)
      select 'entries_sent_twice', 'entry:' || mailing_id || ':' || line,
        jsonb_build_object('mailingId', mailing_id, 'line', line, 'claims', jsonb_agg(epoch order by epoch))
      from (
        select mailing_id, line, epoch from mailing_sends
        union
        select e.mailing_id, e.line, e.sent_epoch from mailing_entries e
        where (e.mailing_id, e.line) in (select mailing_id, line from mailing_sends) and e.sent_epoch is not null
      ) sends
      group by mailing_id, line having count(*) > 1
      on conflict (invariant, subject) do update set detail = excluded.detail,
        -- Once more after somebody has seen it is news.
        acknowledged_at = case when invariant_faults.detail = excluded.detail then invariant_faults.acknowledged_at end
      where invariant_faults.detail <> excluded.detail
    $$`.execute(db);
}
