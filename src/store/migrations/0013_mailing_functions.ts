import { type Kysely, sql } from 'kysely';

/**
 * How a worker goes through a batch, each step one round trip: begin, then advance (settle what was answered and claim
 * what comes next) again and again. Locks are taken in one order: the batch, its entries, the mailing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createCounting(db);
  await createBegin(db);
  await createSettle(db);
  await createClaim(db);
  await createAdvance(db);
}

/** Keeps the counts of a batch: each change of an entry is one less here and one more there. */
async function createCounting(db: Kysely<unknown>): Promise<void> {
  // Workers are told how long to wait and not until when: their clocks are their own.
  await sql`
    create function ms_until(p_time timestamptz) returns integer language sql as $$
      select greatest(0, ceil(extract(epoch from p_time - clock_timestamp()) * 1000))::integer
    $$`.execute(db);
  await sql`
    create function count_entries(p_mailing uuid, p_batch integer, p_before text[], p_after text[]) returns void
    language plpgsql as $$
    begin
      update mailing_batches b set
        pending = b.pending + c.pending, sending = b.sending + c.sending, sent = b.sent + c.sent,
        failed = b.failed + c.failed, unknown = b.unknown + c.unknown, suppressed = b.suppressed + c.suppressed
      from (
        select
          count(*) filter (where now_is = 'PENDING') - count(*) filter (where was = 'PENDING') as pending,
          count(*) filter (where now_is = 'SENDING') - count(*) filter (where was = 'SENDING') as sending,
          count(*) filter (where now_is = 'SENT') - count(*) filter (where was = 'SENT') as sent,
          count(*) filter (where now_is = 'FAILED') - count(*) filter (where was = 'FAILED') as failed,
          count(*) filter (where now_is = 'UNKNOWN') - count(*) filter (where was = 'UNKNOWN') as unknown,
          count(*) filter (where now_is = 'SUPPRESSED') - count(*) filter (where was = 'SUPPRESSED') as suppressed
        from unnest(p_before, p_after) as change (was, now_is)
      ) c
      where b.mailing_id = p_mailing and b.batch = p_batch;
    end $$`.execute(db);
}

/** Takes a batch. What a worker before left in hand is in doubt now, and the policy says what that means. */
async function createBegin(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function begin_batch(p_mailing uuid, p_batch integer, p_resend boolean, p_max_attempts integer)
    returns integer language plpgsql set enable_seqscan = off as $$
    declare
      v_batch mailing_batches;
      v_after text[];
    begin
      update mailing_batches set epoch = epoch + 1
      where mailing_id = p_mailing and batch = p_batch and not is_done returning * into v_batch;
      if not found then return null; end if;
      if v_batch.sending > 0 then
        with doubtful as (
          update mailing_entries set
            status = case when p_resend and attempts < p_max_attempts then 'PENDING' else 'UNKNOWN' end,
            last_error = 'The worker ended while it sent this.'
          where mailing_id = p_mailing and line between v_batch.from_line and v_batch.to_line and status = 'SENDING'
          returning status
        )
        select array_agg(status) into v_after from doubtful;
        if v_after is not null then
          perform count_entries(p_mailing, p_batch, array_fill('SENDING'::text, array[cardinality(v_after)]), v_after);
        end if;
      end if;
      return v_batch.epoch;
    end $$`.execute(db);
}

/**
 * Writes what became of entries that were claimed. Each outcome names the claim it belongs to. Whoever changes the
 * status of an entry holds the lock on its batch, so what is read here does not change under the update. A mail that
 * was sent twice leaves a trace, and the usual way pays nothing for it.
 */
async function createSettle(db: Kysely<unknown>): Promise<void> {
  await sql`
    create type mail_outcome as (
      line integer, epoch integer, status text, external_id text, error text, retry_in_ms integer,
      is_throttled boolean, is_bounced boolean)`.execute(db);
  await sql`
    create function settle_entries(p_mailing uuid, p_client text, p_batch integer, p_outcomes jsonb)
    returns void language plpgsql as $$
    declare
      v_outcomes mail_outcome[];
      v_before text[];
      v_after text[];
      v_first_line integer;
      v_last_line integer;
      v_doubled integer[];
      v_other_epochs integer[];
      v_failed integer[];
      v_bounced text[];
      v_mended text[];
    begin
      select array_agg(o) filter (where is_due), array_agg(was) filter (where is_due),
        array_agg((o).status) filter (where is_due), min((o).line), max((o).line),
        array_agg((o).line) filter (where other_epoch is not null), array_agg(other_epoch) filter (where other_epoch is not null)
      into v_outcomes, v_before, v_after, v_first_line, v_last_line, v_doubled, v_other_epochs
      from (
        select o, e.status as was,
          -- Another worker may have taken over meanwhile. That a mail was taken, or refused for good, is true all the same.
          e.epoch = o.epoch and (
            e.status = 'SENDING' or (e.status in ('UNKNOWN', 'PENDING') and o.status in ('SENT', 'FAILED'))) as is_due,
          -- The mail was sent under another claim, too, or will be.
          case when o.status <> 'SENT' then null when e.epoch <> o.epoch then o.epoch
            when e.sent_epoch <> o.epoch then e.sent_epoch end as other_epoch
        from jsonb_populate_recordset(null::mail_outcome, p_outcomes) o
        -- With the offset it stays a look-up for each outcome, whatever the statistics say.
        cross join lateral (
          select status, epoch, sent_epoch from mailing_entries where mailing_id = p_mailing and line = o.line offset 0) e
      ) outcomes;
      if v_doubled is not null then
        insert into mailing_sends (mailing_id, line, epoch)
        select p_mailing, line, epoch from unnest(v_doubled, v_other_epochs) as sends (line, epoch) on conflict do nothing;
      end if;
      if v_outcomes is null then return; end if;

      with settled as (
        update mailing_entries e set
          status = o.status, external_id = coalesce(o.external_id, e.external_id),
          -- What was noted when the file was read stays; what went wrong in an attempt goes with the next one.
          last_error = case when o.status = 'SENT' and e.epoch = 1 then e.last_error else o.error end,
          attempts = e.attempts - o.is_throttled::integer, throttles = e.throttles + o.is_throttled::integer,
          next_attempt_at = clock_timestamp() + make_interval(secs => o.retry_in_ms / 1000.0),
          sent_at = case when o.status = 'SENT' then clock_timestamp() end,
          sent_epoch = case when o.status = 'SENT' then o.epoch else e.sent_epoch end
        from unnest(v_outcomes) o
        where e.mailing_id = p_mailing and e.line between v_first_line and v_last_line and e.line = o.line
        returning e.line, e.email, e.epoch, e.status, o.is_bounced
      )
      select array_agg(line) filter (where status = 'FAILED'), array_agg(email order by email) filter (where is_bounced),
        array_agg(email) filter (where status = 'SENT' and epoch > 1)
      into v_failed, v_bounced, v_mended from settled;
      perform count_entries(p_mailing, p_batch, v_before, v_after);

      if v_failed is not null then
        insert into dead_letters (id, record_id, client, sub_client, operation, generation, attempts, error, line)
        select gen_random_uuid(), p_mailing, p_client, '', 'mailing.send', epoch, attempts,
          jsonb_build_object('code', 'MAIL_FAILED', 'message', last_error), line
        from mailing_entries
        where mailing_id = p_mailing and line between v_first_line and v_last_line and line = any (v_failed);
      end if;
      if v_bounced is not null then
        insert into suppressions (client, email, reason, mailing_id)
        select p_client, email, 'bounced', p_mailing from unnest(v_bounced) email on conflict do nothing;
      end if;
      if v_mended is not null then
        delete from suppressions where client = p_client and reason = 'bounced' and mailing_id = p_mailing
          and email = any (v_mended);
      end if;
    end $$`.execute(db);
  // The server asks for patience: all of the mailing slows down, by turns of up to a minute. When it takes mail again,
  // the mailing gets back to its pace turn by turn.
  await sql`
    create function change_pace(p_mailing uuid, p_throttling text) returns void language plpgsql as $$
    begin
      if p_throttling is not null then
        update mailings set throttle_level = least(throttle_level + 1, 7), last_error = p_throttling,
          throttled_until = clock_timestamp() + make_interval(secs => least(60, power(2, throttle_level) / 2))
        where id = p_mailing and (throttled_until is null or throttled_until <= clock_timestamp());
      else
        update mailings set throttle_level = throttle_level - 1,
          last_error = case when throttle_level > 1 then last_error end
        where id = p_mailing and throttle_level > 0;
      end if;
    end $$`.execute(db);
}

/** Takes the next entries of a batch that are due. Who wants no mail is passed over. */
async function createClaim(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function claim_entries(
      p_mailing uuid, p_client text, p_batch mailing_batches, p_after integer, p_limit integer)
    returns json language plpgsql as $$
    declare
      v_lines integer[];
      v_last_line integer;
      v_reasons text[];
      v_after text[];
      v_entries json;
    begin
      select array_agg(line), array_agg(reason) into v_lines, v_reasons from (
        select e.line, (
          select s.reason from suppressions s where s.client = p_client and s.email = e.email
            -- Whoever asks to try again an address that bounced in this very mailing means it.
            and (s.reason <> 'bounced' or s.mailing_id is distinct from p_mailing)) as reason
        from mailing_entries e
        where e.mailing_id = p_mailing and e.line > p_after and e.line between p_batch.from_line and p_batch.to_line
          and e.status = 'PENDING' and (e.next_attempt_at is null or e.next_attempt_at <= clock_timestamp())
        order by e.line limit p_limit
      ) due;
      if v_lines is null then return null; end if;
      v_last_line := v_lines[cardinality(v_lines)];

      with claimed as (
        update mailing_entries e set
          status = case when reason is null then 'SENDING' else 'SUPPRESSED' end,
          last_error = coalesce(reason, e.last_error),
          epoch = e.epoch + (reason is null)::integer, attempts = e.attempts + (reason is null)::integer,
          next_attempt_at = null
        from unnest(v_lines, v_reasons) as due (line, reason)
        where e.mailing_id = p_mailing and e.line between v_lines[1] and v_last_line and e.line = due.line
        returning e.line, e.email, e.token, e.epoch, e.attempts, e.throttles, e.cells, e.status
      )
      select array_agg(status), coalesce(json_agg(json_build_object('line', line, 'email', email, 'token', token,
        'epoch', epoch, 'attempts', attempts, 'throttles', throttles, 'cells', cells) order by line)
        filter (where status = 'SENDING'), '[]')
      into v_after, v_entries from claimed;
      perform count_entries(p_mailing, p_batch.batch, array_fill('PENDING'::text, array[cardinality(v_after)]), v_after);
      return json_build_object('state', 'claimed', 'entries', v_entries, 'after', v_last_line);
    end $$`.execute(db);
}

/**
 * The setting holds for the functions that it calls, too. Of the mailing only what is needed is read: its texts may be
 * large, and this is done for every few mails.
 */
async function createAdvance(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function advance_batch(
      p_mailing uuid, p_batch integer, p_epoch integer, p_outcomes jsonb, p_after integer, p_limit integer)
    returns json language plpgsql set enable_seqscan = off as $$
    declare
      v_batch mailing_batches;
      v_mailing record;
      v_throttling text;
      v_limit integer := p_limit;
    begin
      select * into v_batch from mailing_batches where mailing_id = p_mailing and batch = p_batch for update;
      select client, status, throttle_level, throttled_until, rate_per_second into v_mailing
      from mailings where id = p_mailing;
      if jsonb_array_length(p_outcomes) > 0 then
        perform settle_entries(p_mailing, v_mailing.client, p_batch, p_outcomes);
        v_throttling := (
          select error from jsonb_populate_recordset(null::mail_outcome, p_outcomes) where is_throttled limit 1);
        if v_throttling is not null or v_mailing.throttle_level > 0 then
          perform change_pace(p_mailing, v_throttling);
          select client, status, throttle_level, throttled_until, rate_per_second into v_mailing
          from mailings where id = p_mailing;
        end if;
      end if;
      if v_batch.epoch is distinct from p_epoch then return json_build_object('state', 'lost'); end if;
      if v_mailing.status <> 'SENDING' then return json_build_object('state', 'halted'); end if;
      if p_limit = 0 then return json_build_object('state', 'settled'); end if;
      if v_mailing.throttled_until > clock_timestamp() then
        return json_build_object('state', 'wait', 'waitMs', ms_until(v_mailing.throttled_until));
      end if;
      -- One at a time until the server takes mail as before.
      if v_mailing.throttle_level > 0 then v_limit := 1; end if;

      if v_mailing.rate_per_second is not null then
        -- A tenth of a second's worth at a time, and the next such share when its time has come, whoever asks for it.
        v_limit := least(v_limit, greatest(1, v_mailing.rate_per_second / 10));
        update mailings set next_send_at =
          greatest(coalesce(next_send_at, clock_timestamp()), clock_timestamp() - interval '100 milliseconds')
            + make_interval(secs => v_limit / rate_per_second::double precision)
        where id = p_mailing and (next_send_at is null or next_send_at <= clock_timestamp());
        if not found then
          return json_build_object('state', 'wait', 'waitMs', (
            select ms_until(next_send_at) from mailings where id = p_mailing));
        end if;
      end if;
      return coalesce(
        claim_entries(p_mailing, v_mailing.client, v_batch, p_after, v_limit), json_build_object('state', 'end'));
    end $$`.execute(db);
}
