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
    create function count_entries(p_mailing uuid, p_batch integer, p_changes jsonb) returns void
    language sql as $$
      update mailing_batches b set
        pending = b.pending + c.pending, sending = b.sending + c.sending, sent = b.sent + c.sent,
        failed = b.failed + c.failed, unknown = b.unknown + c.unknown, suppressed = b.suppressed + c.suppressed
      from (
        select
          coalesce(sum(n) filter (where s = 'PENDING'), 0) as pending,
          coalesce(sum(n) filter (where s = 'SENDING'), 0) as sending,
          coalesce(sum(n) filter (where s = 'SENT'), 0) as sent,
          coalesce(sum(n) filter (where s = 'FAILED'), 0) as failed,
          coalesce(sum(n) filter (where s = 'UNKNOWN'), 0) as unknown,
          coalesce(sum(n) filter (where s = 'SUPPRESSED'), 0) as suppressed
        from (
          select e ->> 'was' as s, -1 as n from jsonb_array_elements(p_changes) e
          union all select e ->> 'is', 1 from jsonb_array_elements(p_changes) e
        ) moves
      ) c
      where b.mailing_id = p_mailing and b.batch = p_batch
    $$`.execute(db);
}

/** Takes a batch. What a worker before left in hand is in doubt now, and the policy says what that means. */
async function createBegin(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function begin_batch(p_mailing uuid, p_batch integer, p_resend boolean, p_max_attempts integer)
    returns integer language plpgsql set enable_seqscan = off as $$
    declare
      v_batch mailing_batches;
      v_changes jsonb;
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
        select jsonb_agg(jsonb_build_object('was', 'SENDING', 'is', status)) into v_changes from doubtful;
        perform count_entries(p_mailing, p_batch, v_changes);
      end if;
      return v_batch.epoch;
    end $$`.execute(db);
}

/** Writes what became of entries that were claimed. Each outcome names the claim it belongs to. */
async function createSettle(db: Kysely<unknown>): Promise<void> {
  await sql`
    create type mail_outcome as (
      line integer, epoch integer, status text, external_id text, error text, retry_in_ms integer,
      is_throttled boolean, is_bounced boolean)`.execute(db);
  await sql`
    create function settle_entries(p_mailing mailings, p_batch integer, p_outcomes jsonb) returns void
    language plpgsql set enable_seqscan = off as $$
    declare
      v_changes jsonb;
    begin
      with outcome as (
        select * from jsonb_populate_recordset(null::mail_outcome, p_outcomes)
      ), before as (
        select e.line, e.status from mailing_entries e
        where e.mailing_id = p_mailing.id and e.line = any (array(select line from outcome)) for update
      ), settled as (
        update mailing_entries e set
          status = o.status, external_id = coalesce(o.external_id, e.external_id),
          -- What was noted when the file was read stays; what went wrong in an attempt goes with the next one.
          last_error = case when o.status = 'SENT' and e.epoch = 1 then e.last_error else o.error end,
          attempts = e.attempts - o.is_throttled::integer, throttles = e.throttles + o.is_throttled::integer,
          next_attempt_at = clock_timestamp() + make_interval(secs => o.retry_in_ms / 1000.0),
          sent_at = case when o.status = 'SENT' then clock_timestamp() end
        from outcome o join before b on b.line = o.line
        -- Another worker may have taken over meanwhile. That a mail was taken, or refused for good, is true all the same.
        where e.mailing_id = p_mailing.id and e.line = o.line and e.epoch = o.epoch and (
          b.status = 'SENDING' or (b.status in ('UNKNOWN', 'PENDING') and o.status in ('SENT', 'FAILED')))
        returning e.line, e.email, e.epoch, e.attempts, b.status as was, o.status as now_is, o.error, o.is_bounced
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
}

/** Takes the next entries of a batch that are due. Who wants no mail is passed over. */
async function createClaim(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function claim_entries(p_mailing mailings, p_batch mailing_batches, p_after integer, p_limit integer)
    returns jsonb language plpgsql set enable_seqscan = off as $$
    declare
      v_lines integer[];
      v_suppressed integer[];
      v_entries jsonb;
    begin
      select array_agg(line) into v_lines from (
        select line from mailing_entries
        where mailing_id = p_mailing.id and line > p_after and line between p_batch.from_line and p_batch.to_line
          and status = 'PENDING' and (next_attempt_at is null or next_attempt_at <= clock_timestamp())
        order by line limit p_limit for update
      ) due;
      if v_lines is null then return null; end if;

      with suppressed as (
        update mailing_entries e set status = 'SUPPRESSED', last_error = s.reason
        from suppressions s
        where e.mailing_id = p_mailing.id and e.line = any (v_lines) and s.client = p_mailing.client and s.email = e.email
          -- Whoever asks to try again an address that bounced in this very mailing means it.
          and (s.reason <> 'bounced' or s.mailing_id is distinct from p_mailing.id)
        returning e.line
      )
      select coalesce(array_agg(line), '{}') into v_suppressed from suppressed;

      with claimed as (
        update mailing_entries e set
          status = 'SENDING', epoch = e.epoch + 1, attempts = e.attempts + 1, next_attempt_at = null
        where e.mailing_id = p_mailing.id and e.line = any (v_lines) and e.line <> all (v_suppressed)
        returning e.*
      )
      select coalesce(jsonb_agg(jsonb_build_object('line', line, 'email', email, 'token', token, 'epoch', epoch,
        'attempts', attempts, 'throttles', throttles, 'cells', cells) order by line), '[]')
      into v_entries from claimed;

      perform count_entries(p_mailing.id, p_batch.batch, (
        select jsonb_agg(jsonb_build_object('was', 'PENDING', 'is',
          case when line = any (v_suppressed) then 'SUPPRESSED' else 'SENDING' end))
        from unnest(v_lines) line));
      return jsonb_build_object('entries', v_entries, 'after', v_lines[cardinality(v_lines)]);
    end $$`.execute(db);
}

async function createAdvance(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function advance_batch(
      p_mailing uuid, p_batch integer, p_epoch integer, p_outcomes jsonb, p_after integer, p_limit integer)
    returns jsonb language plpgsql set enable_seqscan = off as $$
    declare
      v_mailing mailings;
      v_batch mailing_batches;
      v_limit integer := p_limit;
      v_claim jsonb;
    begin
      select * into v_batch from mailing_batches where mailing_id = p_mailing and batch = p_batch for update;
      select * into v_mailing from mailings where id = p_mailing;
      if jsonb_array_length(p_outcomes) > 0 then
        perform settle_entries(v_mailing, p_batch, p_outcomes);
        select * into v_mailing from mailings where id = p_mailing;
      end if;
      if v_batch.epoch <> p_epoch then return jsonb_build_object('state', 'lost'); end if;
      if v_mailing.status <> 'SENDING' then return jsonb_build_object('state', 'halted'); end if;
      if p_limit = 0 then return jsonb_build_object('state', 'settled'); end if;
      if v_mailing.throttled_until > clock_timestamp() then
        return jsonb_build_object('state', 'wait', 'waitMs', ms_until(v_mailing.throttled_until));
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
          select * into v_mailing from mailings where id = p_mailing;
          return jsonb_build_object('state', 'wait', 'waitMs', ms_until(v_mailing.next_send_at));
        end if;
      end if;

      v_claim := claim_entries(v_mailing, v_batch, p_after, v_limit);
      return case when v_claim is null then jsonb_build_object('state', 'end')
        else v_claim || jsonb_build_object('state', 'claimed') end;
    end $$`.execute(db);
}
