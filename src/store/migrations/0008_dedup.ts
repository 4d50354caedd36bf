import { type Kysely, sql } from 'kysely';

/** What idempotent receivers have seen: a row for each message of each namespace, until it expires. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // While a message is in flight, `expires_at` is the end of its holder's lease; afterwards that of its result.
  await sql`
    create table dedup (
      namespace text not null,
      message_id text not null,
      state text not null check (state in ('IN_FLIGHT', 'DONE')),
      token uuid not null,
      result text check ((result is not null) = (state = 'DONE')),
      taken_at timestamptz not null default statement_timestamp(),
      expires_at timestamptz not null,
      primary key (namespace, message_id)
    )`.execute(db);
  await sql`create index dedup_expiry on dedup (expires_at)`.execute(db);
}
