import { type Kysely, sql } from 'kysely';

/**
 * Leaves a trace of mails that were sent twice. The entry remembers under which claim it was sent; whoever was taken for
 * dead and reports late that it had sent the mail too, or sends an entry that was sent before, adds a row. So the usual
 * way costs nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table mailing_entries add column sent_epoch integer`.execute(db);
  await sql`
    create table mailing_sends (
      mailing_id uuid not null references mailings (id) on delete cascade,
      line integer not null,
      epoch integer not null,
      at timestamptz not null default now(),
      primary key (mailing_id, line, epoch)
    )`.execute(db);
  await sql`
    create or replace function settle_entries(p_mailing mailings, p_batch integer, p_outcomes jsonb) returns void
    language plpgsql set enable_seqscan = off as $$
    declare
      v_changes jsonb;
    begin
      with outcome as (
        select * from jsonb_populate_recordset(null::mail_outcome, p_outcomes)
      ), before as (
        select e.line, e.status, e.epoch, e.sent_epoch from mailing_entries e
        where e.mailing_id = p_mailing.id and e.line = any (array(select line from outcome)) for update
      ), settled as (
        update mailing_entries e set
          status = o.status, external_id = coalesce(o.external_id, e.external_id),
          -- What was noted when the file was read stays; what went wrong in an attempt goes with the next one.
          last_error = case when o.status = 'SENT' and e.epoch = 1 then e.last_error else o.error end,
          attempts = e.attempts - o.is_throttled::integer, throttles = e.throttles + o.is_throttled::integer,
          next_attempt_at = clock_timestamp() + make_interval(secs => o.retry_in_ms / 1000.0),
          sent_at = case when o.status = 'SENT' then clock_timestamp() end,
          sent_epoch = case when o.status = 'SENT' then o.epoch else e.sent_epoch end
        from outcome o join before b on b.line = o.line
        -- Another worker may have taken over meanwhile. That a mail was taken, or refused for good, is true all the same.
        where e.mailing_id = p_mailing.id and e.line = o.line and e.epoch = o.epoch and (
          b.status = 'SENDING' or (b.status in ('UNKNOWN', 'PENDING') and o.status in ('SENT', 'FAILED')))
        returning e.line, e.email, e.epoch, e.attempts, b.status as was, o.status as now_is, o.error, o.is_bounced
      ), traced as (
        insert into mailing_sends (mailing_id, line, epoch)
        select p_mailing.id, o.line, case when b.epoch = o.epoch then b.sent_epoch else o.epoch end
        from outcome o join before b on b.line = o.line
        where o.status = 'SENT' and (b.epoch <> o.epoch or b.sent_epoch <> o.epoch)
        on conflict do nothing
      ), buried as (
        insert into dead_letters (id, record_id, client, sub_client, operation, generation, attempts, error, line)
        select gen_random_uuid(), p_mailing.id, p_mailing.client, '', 'mailing.send', s.epoch, s.attempts,
          jsonb_build_object('code', 'MAIL_FAILED', 'message', s.error), s.line
        from settled s where s.now_is = 'FAILED'
      ), bounced as (
        insert into suppressions (client, email, reason, mailing_id)
        select p_mailing.client, s.email, 'bounced', p_mailing.id from settled s where s.is_bounced order by s.email
        on conflict do nothing
      ), mended as (
        delete from suppressions where client = p_mailing.client and reason = 'bounced' and mailing_id = p_mailing.id
          and email = any (array(select email from settled where now_is = 'SENT' and epoch > 1))
      )
      select jsonb_agg(jsonb_build_object('was', was, 'is', now_is)) into v_changes from settled;
      if v_changes is not null then perform count_entries(p_mailing.id, p_batch, v_changes); end if;

      -- The server asks for patience: all of the mailing slows down, by turns of up to a minute.
      if exists (select from jsonb_populate_recordset(null::mail_outcome, p_outcomes) where is_throttled) then
        update mailings set throttle_level = least(throttle_level + 1, 7),
          throttled_until = clock_timestamp() + make_interval(secs => least(60, power(2, throttle_level) / 2)),
          last_error = (
            select error from jsonb_populate_recordset(null::mail_outcome, p_outcomes) where is_throttled limit 1)
        where id = p_mailing.id and (throttled_until is null or throttled_until <= clock_timestamp());
      elsif p_mailing.throttle_level > 0 then
        update mailings set throttle_level = throttle_level - 1,
          last_error = case when throttle_level > 1 then last_error end
        where id = p_mailing.id and throttle_level > 0;
      end if;
    end $$`.execute(db);
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
