import { type Kysely, sql } from 'kysely';

/** What operators do and look at: their actions, counts of requests, and the ways to what needs them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table admin_actions (
      id uuid primary key,
      at timestamptz not null default now(),
      actor text not null,
      action text not null,
      subject text,
      detail jsonb
    )`.execute(db);
  await sql`create trigger admin_actions_keep_rows before update or delete on admin_actions
    for each row execute function refuse_audit_change()`.execute(db);
  await sql`create trigger admin_actions_keep_all before truncate on admin_actions
    for each statement execute function refuse_audit_change()`.execute(db);

  // Totals of each process, not increments: a write whose reply was lost can be made again and changes nothing.
  await sql`
    create table request_counts (
      hour timestamptz not null,
      operation text not null,
      process uuid not null,
      requests bigint not null,
      duplicates bigint not null,
      mismatches bigint not null,
      cache_hits bigint not null,
      cache_misses bigint not null,
      primary key (hour, operation, process)
    ) with (fillfactor = 50)`.execute(db);

  // The dead letters of mails have random ids, so a list of all goes by time.
  await sql`create index dead_letters_newest on dead_letters (created_at desc, id desc)`.execute(db);
}
