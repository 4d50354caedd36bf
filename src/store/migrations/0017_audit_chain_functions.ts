import { type Kysely, sql } from 'kysely';

/**
 * The hot steps of a record's life again, now with the chain: the statement that makes a transition also makes the hash
 * of its audit row, and the row takes it from there.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await replaceInsert(db);
  await replaceClaim(db);
  await replaceFinish(db);
}

async function replaceInsert(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function insert_records(p_rows submitted_record[], p_generation integer) returns uuid[]
    language plpgsql as $$
    declare
      v_created uuid[];
    begin
      -- One order for all: two groups with the same keys wait for each other instead of deadlocking.
      with created as (
        insert into records (id, client, sub_client, operation, key, fingerprint, request, status, generation, audit_hash)
        select id, client, sub_client, operation, key, fingerprint, request, 'QUEUED', p_generation,
          hash_audit(null, id, 1, now(), null, 'QUEUED', actor, 0, null)
        from unnest(p_rows) r
        -- A key that is known already is left out: the insert would wait for whoever is at work on its record.
        -- Not as "not exists", which may become a join that reads the whole index.
        where (
          select s.id from records s where s.client = r.client and s.sub_client = r.sub_client
            and s.operation = r.operation and s.key = r.key limit 1) is null
        order by client, sub_client, operation, key
        on conflict (client, sub_client, operation, key) do nothing
        returning id, audit_hash
      ), traced as (
        insert into audit (record_id, seq, from_status, to_status, actor, epoch, hash)
        select c.id, 1, null, 'QUEUED', r.actor, 0, c.audit_hash from created c join unnest(p_rows) r on r.id = c.id
      )
      select coalesce(array_agg(id), '{}') into v_created from created;

      insert into outbox (id, queue, name, job_id, data, next_attempt_at)
      select outbox_id, queue, operation,
        case p_generation when 1 then job_id else job_id || '~' || p_generation end,
        jsonb_strip_nulls(jsonb_build_object('recordId', id, 'replyTo', reply_to)),
        now() + make_interval(secs => relay_after_ms / 1000.0)
      from unnest(p_rows) where id = any (v_created);
      return v_created;
    end $$`.execute(db);
}

async function replaceClaim(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function claim_records(p_ids uuid[], p_actor text) returns setof records
    language plpgsql set enable_seqscan = off as $$
    begin
      perform 1 from records where id = any (p_ids) order by id for update;
      return query
        with claimed as (
          update records r
          set status = 'PROCESSING', epoch = r.epoch + 1, attempts = r.attempts + 1,
            transitions = r.transitions + 1, next_attempt_at = null, updated_at = now(),
            audit_hash = hash_audit(
              r.audit_hash, r.id, r.transitions + 1, now(), r.status, 'PROCESSING', p_actor, r.epoch + 1, null)
          from (select id, status, audit_hash from records where id = any (p_ids) and settled_at is null) before
          where r.id = before.id
          returning r, before.status as from_status, before.audit_hash as prev_hash
        ), traced as (
          insert into audit (record_id, seq, from_status, to_status, actor, epoch, prev_hash, hash)
          select (r).id, (r).transitions, from_status, 'PROCESSING', p_actor, (r).epoch, prev_hash, (r).audit_hash
          from claimed
        )
        select (r).* from claimed;
    end $$`.execute(db);
}

async function replaceFinish(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function finish_records(p_outcomes record_outcome[], p_actor text) returns setof records
    language plpgsql set enable_seqscan = off as $$
    declare
      v_finished records[];
    begin
      with finished as (
        update records r
        set status = o.status, transitions = r.transitions + 1, updated_at = now(), settled_at = now(),
          response_status = o.response_status, response_body = o.response_body::json, error = o.error,
          resource_type = o.resource_type, resource_id = o.resource_id,
          expires_at = case when o.status <> 'UNKNOWN' then now() + make_interval(secs => o.ttl_seconds) end,
          audit_hash = hash_audit(
            r.audit_hash, r.id, r.transitions + 1, now(), 'PROCESSING', o.status, p_actor, r.epoch, o.detail)
        from unnest(p_outcomes) o join records before on before.id = o.id
        where r.id = o.id and r.epoch = o.epoch and r.status = 'PROCESSING'
        returning r, before.audit_hash as prev_hash, o.detail
      ), traced as (
        insert into audit (record_id, seq, from_status, to_status, actor, epoch, detail, prev_hash, hash)
        select (r).id, (r).transitions, 'PROCESSING', (r).status, p_actor, (r).epoch, detail, prev_hash, (r).audit_hash
        from finished
      )
      select array_agg(r) into v_finished from finished;

      -- The fence: someone else claimed a record of ours meanwhile, so nothing of this transaction may stay.
      if coalesce(cardinality(v_finished), 0) <> cardinality(p_outcomes) then
        raise exception 'a record was claimed by another worker' using errcode = 'SM001';
      end if;

      insert into events (id, type, client, record_id, data)
      select r.id || '.' || r.generation || '.' || n, e ->> 'type', r.client, r.id, e -> 'data'
      from unnest(v_finished) r join unnest(p_outcomes) o on o.id = r.id,
        jsonb_array_elements(o.events) with ordinality as list (e, n);

      return query select * from unnest(v_finished);
    end $$`.execute(db);
}
