import { type Kysely, sql } from 'kysely';

/** The records, their audit trail, and what leaves the database: outbox, events, dead letters. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table records (
      id uuid primary key,
      client text not null,
      sub_client text not null,
      operation text not null,
      key text,
      fingerprint text not null,
      request jsonb not null,
      status text not null check (status in ('QUEUED', 'PROCESSING', 'SUCCEEDED', 'REJECTED', 'FAILED', 'UNKNOWN')),
      generation integer not null default 1,
      epoch integer not null default 0,
      attempts integer not null default 0,
      replays integer not null default 0,
      transitions integer not null default 1,
      response_status smallint,
      response_body json,
      error jsonb,
      resource_type text,
      resource_id uuid,
      next_attempt_at timestamptz,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      settled_at timestamptz,
      expires_at timestamptz,
      check ((settled_at is null) = (status in ('QUEUED', 'PROCESSING')))
    ) with (fillfactor = 70)`.execute(db);
  await sql`create unique index records_key on records (client, sub_client, operation, key)`.execute(db);
  // On an expression, so that no plan takes it for the index of keys: with two columns in common, and made while the
  // table was empty, one did, and read all records of a client for each key.
  await sql`create index records_listing on records ((client || '@' || sub_client), id desc)`.execute(db);
  // Not on status: a claim then changes no indexed column, so it stays a cheap in-page (HOT) update.
  await sql`create index records_unsettled on records (id) where settled_at is null`.execute(db);

  await sql`
    create table audit (
      record_id uuid not null,
      seq integer not null,
      at timestamptz not null default now(),
      from_status text,
      to_status text not null,
      actor text not null,
      epoch integer not null,
      detail jsonb,
      primary key (record_id, seq, at)
    ) partition by range (at)`.execute(db);
  await sql`create table audit_default partition of audit default`.execute(db);
  await refuseChangesOfAudit(db);

  await sql`
    create table outbox (
      id uuid primary key,
      queue text not null,
      name text not null,
      job_id text not null,
      data jsonb not null,
      attempts integer not null default 0,
      next_attempt_at timestamptz not null,
      quarantined_at timestamptz,
      last_error text,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index outbox_due on outbox (next_attempt_at) where quarantined_at is null`.execute(db);

  await sql`
    create table events (
      id text primary key,
      type text not null,
      client text not null,
      record_id uuid not null,
      data jsonb not null,
      created_at timestamptz not null default now()
    )`.execute(db);

  await sql`
    create table dead_letters (
      id uuid primary key,
      record_id uuid not null,
      client text not null,
      sub_client text not null,
      operation text not null,
      key text,
      generation integer not null,
      attempts integer not null,
      error jsonb not null,
      created_at timestamptz not null default now(),
      unique (record_id, generation)
    )`.execute(db);
}

/** A trigger, not a grant: the owner of the table is refused too. Old partitions may still be dropped whole. */
async function refuseChangesOfAudit(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function refuse_audit_change() returns trigger language plpgsql as $$
    begin
      raise exception 'audit rows are append-only';
    end $$`.execute(db);
  await sql`create trigger audit_keeps_rows before update or delete on audit
    for each row execute function refuse_audit_change()`.execute(db);
  await sql`create trigger audit_keeps_all before truncate on audit
    for each statement execute function refuse_audit_change()`.execute(db);
  await sql`
    create function ensure_audit_partitions(p_from timestamptz, p_months integer) returns void language plpgsql as $$
    declare
      v_start timestamptz;
      v_end timestamptz;
      v_name text;
    begin
      for i in 0 .. p_months loop
        v_start := (date_trunc('month', p_from at time zone 'UTC') + make_interval(months => i)) at time zone 'UTC';
        v_end := (date_trunc('month', p_from at time zone 'UTC') + make_interval(months => i + 1)) at time zone 'UTC';
        v_name := 'audit_' || to_char(v_start at time zone 'UTC', 'YYYY_MM');
        -- A month whose rows went to the default partition already stays there: Postgres would refuse to split it off.
        if to_regclass(v_name) is null
          and not exists (select 1 from audit_default where at >= v_start and at < v_end) then
          execute format('create table if not exists %I partition of audit for values from (%L) to (%L)',
            v_name, v_start, v_end);
        end if;
      end loop;
    end $$`.execute(db);
  await sql`select ensure_audit_partitions(now(), 3)`.execute(db);
}
