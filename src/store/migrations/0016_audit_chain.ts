import { type Kysely, sql } from 'kysely';

/**
 * The audit rows of a record become a chain: each row's hash covers its fields and the hash of the row before, and the
 * record keeps the last one, so that its end is covered too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table records add column audit_hash bytea`.execute(db);
  await sql`alter table audit add column prev_hash bytea, add column hash bytea`.execute(db);
  await createHash(db);
  await hashExistingRows(db);
  await sql`alter table audit alter column hash set not null`.execute(db);
  // A row whose hash is not that of its fields is refused, whoever writes it.
  await sql`
    alter table audit add constraint audit_hash_fits check (
      hash = hash_audit(prev_hash, record_id, seq, at, from_status, to_status, actor, epoch, detail))`.execute(db);
  await createTrims(db);
  await endTrailsOfDeletedRecords(db);
}

/** One text that can be read and hashed by hand: a JSON array, so that no two rows have the same. */
async function createHash(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function hash_audit(p_prev_hash bytea, p_record_id uuid, p_seq integer, p_at timestamptz, p_from text, p_to text,
      p_actor text, p_epoch integer, p_detail jsonb) returns bytea language sql stable parallel safe as $$
      select sha256(convert_to(json_build_array(encode(p_prev_hash, 'hex'), p_record_id, p_seq,
        to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), p_from, p_to, p_actor, p_epoch,
        p_detail::text)::text, 'UTF8'))
    $$`.execute(db);
}

/** The chain of what is there already vouches for it from now on. A record that is gone has no end to compare with. */
async function hashExistingRows(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger audit_keeps_rows on audit`.execute(db);
  await sql`
    do $$
    begin
      for i in 1 .. coalesce((select max(seq) from audit), 0) loop
        update audit a
        set prev_hash = p.hash,
          hash = hash_audit(p.hash, a.record_id, a.seq, a.at, a.from_status, a.to_status, a.actor, a.epoch, a.detail)
        from audit t left join audit p on p.record_id = t.record_id and p.seq = t.seq - 1
        where t.seq = i and a.record_id = t.record_id and a.seq = t.seq and a.at = t.at;
      end loop;
    end $$`.execute(db);
  await sql`
    update records r set audit_hash = a.hash from audit a where a.record_id = r.id and a.seq = r.transitions`.execute(
    db,
  );
  await sql`
    insert into audit (record_id, seq, at, from_status, to_status, actor, epoch, prev_hash, hash)
    select record_id, seq + 1, now(), to_status, 'EXPIRED', 'migration', epoch, hash,
      hash_audit(hash, record_id, seq + 1, now(), to_status, 'EXPIRED', 'migration', epoch, null)
    from (select distinct on (record_id) * from audit order by record_id, seq desc) last
    where not exists (select 1 from records r where r.id = last.record_id)`.execute(db);
}

/** Until when the trail was dropped: what is missing from before is no fault, and may be deleted. */
async function createTrims(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table audit_trims (until timestamptz primary key, trimmed_at timestamptz not null default now())`.execute(
    db,
  );
  await sql`
    create or replace function refuse_audit_change() returns trigger language plpgsql as $$
    begin
      if tg_op = 'DELETE' and tg_table_name <> 'audit_trims' then
        if old.at < (select max(until) from audit_trims) then
          return old;
        end if;
      end if;
      raise exception 'audit rows are append-only';
    end $$`.execute(db);
  await sql`create trigger audit_keeps_rows before update or delete on audit
    for each row execute function refuse_audit_change()`.execute(db);
  await sql`create trigger audit_trims_keeps_rows before update or delete on audit_trims
    for each row execute function refuse_audit_change()`.execute(db);
  await sql`create trigger audit_trims_keeps_all before truncate on audit_trims
    for each statement execute function refuse_audit_change()`.execute(db);
  // Dropping a partition locks the whole table. Where that takes long, it is given up and tried another time, for
  // everything that writes a row would stand in line behind it.
  await sql`
    create function trim_audit(p_before timestamptz) returns timestamptz language plpgsql set lock_timeout = '1s' as $$
    declare
      v_until timestamptz := date_trunc('month', p_before at time zone 'UTC') at time zone 'UTC';
      v_names text[];
    begin
      select coalesce(array_agg(c.relname), '{}') into v_names
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'audit'::regclass and c.relname ~ '^audit_\\d{4}_\\d\\d$'
        and to_date(right(c.relname, 7), 'YYYY_MM')::timestamp at time zone 'UTC' < v_until;
      if cardinality(v_names) = 0 and not exists (select 1 from audit_default where at < v_until) then
        return null;
      end if;
      insert into audit_trims (until) values (v_until) on conflict do nothing;
      for i in 1 .. cardinality(v_names) loop
        execute format('drop table %I', v_names[i]);
      end loop;
      delete from audit_default where at < v_until;
      return v_until;
    end $$`.execute(db);
}

/**
 * The trail outlives its record. Whoever deletes a record, the trail says so, in the same transaction; one without a
 * record that does not say so has lost its end.
 */
async function endTrailsOfDeletedRecords(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function end_audit_trails() returns trigger language plpgsql as $$
    begin
      insert into audit (record_id, seq, at, from_status, to_status, actor, epoch, prev_hash, hash)
      select id, seq, now(), status, ending, actor, epoch, audit_hash,
        hash_audit(audit_hash, id, seq, now(), status, ending, actor, epoch, null)
      from (
        select id, transitions + 1 as seq, status, epoch, audit_hash,
          case when expires_at <= now() then 'EXPIRED' else 'DELETED' end as ending,
          'database:' || current_setting('application_name') as actor
        from gone) ended;
      return null;
    end $$`.execute(db);
  await sql`
    create trigger records_end_trails after delete on records referencing old table as gone
    for each statement execute function end_audit_trails()`.execute(db);
}
