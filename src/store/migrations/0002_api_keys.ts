import { type Kysely, sql } from 'kysely';

/** API keys. Only digests are kept: a copy of the database opens nothing. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_keys (
      id uuid primary key,
      client text not null,
      digest bytea not null unique,
      scopes text[] not null,
      created_at timestamptz not null default now(),
      last_used_at timestamptz,
      revoked_at timestamptz
    )`.execute(db);
}
