import { type Kysely, sql } from 'kysely';

/**
 * The three hot steps of a record's life, each one round trip for a whole group: submit, claim, finish.
 * They live in the database so that operations that run wholly in SQL share the same fence.
 *
 * Each forbids sequential scans: its plans are kept for the life of a connection, and one that was made while the
 * table was nearly empty would read all of it ever after.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createSubmit(db);
  await createClaim(db);
  await createFinish(db);
}

async function createSubmit(db: Kysely<unknown>): Promise<void> {
  await sql`
    create type submitted_record as (
      id uuid, client text, sub_client text, operation text, key text, fingerprint text, request jsonb, actor text,
      outbox_id uuid, queue text, job_id text, reply_to text, relay_after_ms integer)`.execute(db);
  await sql`
    create function insert_records(p_rows submitted_record[], p_generation integer) returns uuid[]
    language plpgsql as $$
    declare
      v_created uuid[];
    begin
      -- One order for all: two groups with the same keys wait for each other instead of deadlocking.
      with created as (
        insert into records (id, client, sub_client, operation, key, fingerprint, request, status, generation)
        select id, client, sub_client, operation, key, fingerprint, request, 'QUEUED', p_generation
        from unnest(p_rows) r
        -- A key that is known already is left out: the insert would wait for whoever is at work on its record.
        -- Not as "not exists", which may become a join that reads the whole index.
        where (
          select s.id from records s where s.client = r.client and s.sub_client = r.sub_client
            and s.operation = r.operation and s.key = r.key limit 1) is null
        order by client, sub_client, operation, key
        on conflict (client, sub_client, operation, key) do nothing
        returning id
      )
      select coalesce(array_agg(id), '{}') into v_created from created;

      insert into audit (record_id, seq, from_status, to_status, actor, epoch)
      select id, 1, null, 'QUEUED', actor, 0 from unnest(p_rows) where id = any (v_created);

      insert into outbox (id, queue, name, job_id, data, next_attempt_at)
      select outbox_id, queue, operation,
        case p_generation when 1 then job_id else job_id || '~' || p_generation end,
        jsonb_strip_nulls(jsonb_build_object('recordId', id, 'replyTo', reply_to)),
        now() + make_interval(secs => relay_after_ms / 1000.0)
      from unnest(p_rows) where id = any (v_created);
      return v_created;
    end $$`.execute(db);
  await sql`
    create function submit_records(p_rows jsonb) returns table (created boolean, record records)
    language plpgsql set enable_seqscan = off as $$
    declare
      v_rows submitted_record[];
      v_created uuid[];
      v_expired record;
    begin
      select array_agg(r) into v_rows from jsonb_populate_recordset(null::submitted_record, p_rows) r;
      v_created := insert_records(v_rows, 1);

      if cardinality(v_created) < cardinality(v_rows) then
        -- A key whose answer has expired is free again. The generation goes on, so that its job gets a new id.
        for v_expired in
          delete from records old using unnest(v_rows) r
          where old.client = r.client and old.sub_client = r.sub_client and old.operation = r.operation
            and old.key = r.key and old.expires_at <= now()
          returning r.id, old.generation
        loop
          v_created := v_created || insert_records(
            array(select r from unnest(v_rows) r where r.id = v_expired.id), v_expired.generation + 1);
        end loop;
      end if;

      return query
        select true, s from records s where s.id = any (v_created)
        union all
        select false, s.record from unnest(v_rows) r
        cross join lateral (
          select k as record from records k where k.client = r.client and k.sub_client = r.sub_client
            and k.operation = r.operation and k.key = r.key limit 1) s
        where r.id <> all (v_created);
    end $$`.execute(db);
}

async function createClaim(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function claim_records(p_ids uuid[], p_actor text) returns setof records
    language plpgsql set enable_seqscan = off as $$
    begin
      perform 1 from records where id = any (p_ids) order by id for update;
      return query
        with claimed as (
          update records r
          set status = 'PROCESSING', epoch = r.epoch + 1, attempts = r.attempts + 1,
            transitions = r.transitions + 1, next_attempt_at = null, updated_at = now()
          from (select id, status from records where id = any (p_ids) and settled_at is null) before
          where r.id = before.id
          returning r, before.status as from_status
        ), traced as (
          insert into audit (record_id, seq, from_status, to_status, actor, epoch)
          select (r).id, (r).transitions, from_status, 'PROCESSING', p_actor, (r).epoch from claimed
        )
        select (r).* from claimed;
    end $$`.execute(db);
}

async function createFinish(db: Kysely<unknown>): Promise<void> {
  await sql`
    create type record_outcome as (
      id uuid, epoch integer, status text, response_status smallint, response_body text, error jsonb,
      resource_type text, resource_id uuid, events jsonb, ttl_seconds integer, detail jsonb)`.execute(db);
  await sql`
    create function finish_records(p_outcomes record_outcome[], p_actor text) returns setof records
    language plpgsql set enable_seqscan = off as $$
    declare
      v_finished records[];
    begin
      with finished as (
        update records r
        set status = o.status, transitions = r.transitions + 1, updated_at = now(), settled_at = now(),
          response_status = o.response_status, response_body = o.response_body::json, error = o.error,
          resource_type = o.resource_type, resource_id = o.resource_id,
          expires_at = case when o.status <> 'UNKNOWN' then now() + make_interval(secs => o.ttl_seconds) end
        from unnest(p_outcomes) o
        where r.id = o.id and r.epoch = o.epoch and r.status = 'PROCESSING'
        returning r
      )
      select array_agg(r) into v_finished from finished;

      -- The fence: someone else claimed a record of ours meanwhile, so nothing of this transaction may stay.
      if coalesce(cardinality(v_finished), 0) <> cardinality(p_outcomes) then
        raise exception 'a record was claimed by another worker' using errcode = 'SM001';
      end if;

      insert into audit (record_id, seq, from_status, to_status, actor, epoch, detail)
      select r.id, r.transitions, 'PROCESSING', r.status, p_actor, r.epoch, o.detail
      from unnest(v_finished) r join unnest(p_outcomes) o on o.id = r.id;

      insert into events (id, type, client, record_id, data)
      select r.id || '.' || r.generation || '.' || n, e ->> 'type', r.client, r.id, e -> 'data'
      from unnest(v_finished) r join unnest(p_outcomes) o on o.id = r.id,
        jsonb_array_elements(o.events) with ordinality as list (e, n);

      return query select * from unnest(v_finished);
    end $$`.execute(db);
}
