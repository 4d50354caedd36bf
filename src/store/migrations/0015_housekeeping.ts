import { type Kysely, sql } from 'kysely';

/** What is needed to find and take away what is over. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index records_expiry on records (expires_at, id) where expires_at is not null`.execute(db);
  await sql`create index mailings_stored_file on mailings (file_name)`.execute(db);
  await sql`
    create index outbox_quarantined on outbox (quarantined_at) where quarantined_at is not null`.execute(db);
  await createDeletion(db);
}

/** The one place where housekeeping deletes records. What is unfinished or in doubt is out of its reach. */
async function createDeletion(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function delete_expired_records(p_ids uuid[]) returns integer
    language plpgsql set enable_seqscan = off as $$
    declare
      v_deleted integer;
    begin
      with doomed as (
        -- Whoever holds one at this moment is about to use its key again, and deletes it himself.
        select id from records r
        where id = any (p_ids) and settled_at is not null and expires_at <= now()
          and (status in ('SUCCEEDED', 'REJECTED')
            or (status = 'FAILED' and not exists (select 1 from dead_letters d where d.record_id = r.id)))
        order by id for update skip locked
      ), deleted as (
        delete from records r using doomed where r.id = doomed.id returning 1
      )
      select count(*) into v_deleted from deleted;
      return v_deleted;
    end $$`.execute(db);
}
