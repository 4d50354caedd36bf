import { type Kysely, sql } from 'kysely';

/**
 * How batches come into the queue and leave it. Locks are taken in one order: the batch, then the mailing, then other
 * batches if nobody holds them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createQueueing(db);
  await createCompletion(db);
  await createFinish(db);
}

/**
 * Puts batches into the queue, but only so many of a mailing at a time that another one gets its turn. The outbox rows
 * stay until their batch is done or halted, so that a Redis that loses its jobs loses no batch.
 */
async function createQueueing(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function queue_batches(p_mailing uuid, p_window integer) returns jsonb
    language plpgsql set enable_seqscan = off as $$
    declare
      v_queued integer;
      v_jobs jsonb;
    begin
      perform 1 from mailings where id = p_mailing and status = 'SENDING' for update;
      if not found then return '[]'; end if;
      select count(*) into v_queued from mailing_batches
      where mailing_id = p_mailing and is_queued and not is_done;

      with next as (
        select batch from mailing_batches where mailing_id = p_mailing and not is_done and not is_queued
        order by batch limit greatest(0, p_window - v_queued) for update skip locked
      ), queued as (
        update mailing_batches b set is_queued = true, run = b.run + 1 from next
        where b.mailing_id = p_mailing and b.batch = next.batch returning b.batch, b.run, gen_random_uuid() as outbox_id
      ), job as (
        select outbox_id, 'send~' || p_mailing || '~' || batch || '~' || run as job_id,
          jsonb_build_object('mailingId', p_mailing, 'batch', batch, 'outboxId', outbox_id) as data
        from queued
      ), kept as (
        insert into outbox (id, queue, name, job_id, data, next_attempt_at, stays)
        -- Whoever called this adds the jobs; the relay comes by if that failed.
        select outbox_id, 'mailings', 'send', job_id, data, now() + interval '2 seconds', true from job
      )
      select coalesce(jsonb_agg(jsonb_build_object('name', 'send', 'jobId', job_id, 'data', data)), '[]')
      into v_jobs from job;
      return v_jobs;
    end $$`.execute(db);
}

/** The last entry is settled, so the mailing is done. Its event says how it ended. */
async function createCompletion(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function complete_mailing(p_mailing uuid, p_actor text) returns boolean
    language plpgsql set enable_seqscan = off as $$
    declare
      v_mailing mailings;
    begin
      update mailings set status = 'COMPLETED', completed_at = clock_timestamp(), completions = completions + 1,
        throttle_level = 0, throttled_until = null, last_error = null
      where id = p_mailing and status = 'SENDING' and open_batches = 0 returning * into v_mailing;
      if not found then return false; end if;
      insert into mailing_history (mailing_id, from_status, to_status, actor)
      values (p_mailing, 'SENDING', 'COMPLETED', p_actor);
      insert into events (id, type, client, record_id, data)
      select p_mailing || '.completed.' || v_mailing.completions, 'mailing.completed', v_mailing.client, p_mailing,
        jsonb_build_object('id', p_mailing, 'filename', v_mailing.filename, 'status', 'COMPLETED',
          'totals', jsonb_build_object('lines', v_mailing.lines, 'duplicates', v_mailing.duplicates,
            'entries', v_mailing.lines - v_mailing.duplicates, 'invalid', coalesce(sum(invalid), 0),
            'suppressed', coalesce(sum(suppressed), 0), 'pending', 0, 'sent', coalesce(sum(sent), 0),
            'failed', coalesce(sum(failed), 0), 'unknown', coalesce(sum(unknown), 0)))
      from mailing_batches where mailing_id = p_mailing;
      return true;
    end $$`.execute(db);
}

/** A worker is through with a batch, or has to let go of it because the mailing was halted. */
async function createFinish(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function finish_batch(
      p_mailing uuid, p_batch integer, p_epoch integer, p_outbox_id uuid, p_window integer, p_actor text)
    returns jsonb language plpgsql set enable_seqscan = off as $$
    declare
      v_batch mailing_batches;
      v_next_attempt_at timestamptz;
      v_completed boolean;
    begin
      select * into v_batch from mailing_batches where mailing_id = p_mailing and batch = p_batch for update;
      if v_batch.epoch is distinct from p_epoch then return jsonb_build_object('state', 'lost'); end if;
      if v_batch.pending + v_batch.sending > 0 then
        select min(coalesce(next_attempt_at, now())) into v_next_attempt_at from mailing_entries
        where mailing_id = p_mailing and line between v_batch.from_line and v_batch.to_line and status = 'PENDING';
        return jsonb_build_object('state', 'later', 'waitMs', ms_until(v_next_attempt_at));
      end if;
      update mailing_batches set is_done = true, is_queued = false where mailing_id = p_mailing and batch = p_batch;
      delete from outbox where id = p_outbox_id;
      update mailings set open_batches = open_batches - 1 where id = p_mailing;
      v_completed := complete_mailing(p_mailing, p_actor);
      return jsonb_build_object(
        'state', 'done', 'isCompleted', v_completed, 'jobs', queue_batches(p_mailing, p_window));
    end $$`.execute(db);
  await sql`
    create function release_batch(p_mailing uuid, p_batch integer, p_outbox_id uuid) returns boolean
    language plpgsql as $$
    begin
      perform 1 from mailing_batches where mailing_id = p_mailing and batch = p_batch for update;
      -- It was resumed meanwhile, and whoever did it counts on this job.
      perform 1 from mailings where id = p_mailing and status = 'SENDING' for update;
      if found then return false; end if;
      delete from outbox where id = p_outbox_id;
      update mailing_batches set is_queued = false where mailing_id = p_mailing and batch = p_batch and not is_done;
      return true;
    end $$`.execute(db);
  // A claim whose reply was lost: the worker never knew of these entries, so certainly nobody was sent anything.
  await sql`
    create function return_unsent(p_mailing uuid, p_batch integer, p_epoch integer, p_known integer[]) returns void
    language plpgsql set enable_seqscan = off as $$
    declare
      v_batch mailing_batches;
      v_after text[];
    begin
      select * into v_batch from mailing_batches
      where mailing_id = p_mailing and batch = p_batch and epoch = p_epoch for update;
      if not found or v_batch.sending = 0 then return; end if;
      with returned as (
        update mailing_entries set status = 'PENDING', attempts = attempts - 1
        where mailing_id = p_mailing and line between v_batch.from_line and v_batch.to_line
          and status = 'SENDING' and line <> all (p_known)
        returning status
      )
      select array_agg(status) into v_after from returned;
      if v_after is not null then
        perform count_entries(p_mailing, p_batch, array_fill('SENDING'::text, array[cardinality(v_after)]), v_after);
      end if;
    end $$`.execute(db);
}
