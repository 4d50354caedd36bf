import { type Kysely, sql } from 'kysely';

/** Endpoints of a client, and what is sent to each. Secrets are derived from a key that the database does not have. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhooks (
      id uuid primary key,
      client text not null,
      url text not null,
      events text[] not null,
      secret_version integer not null default 1,
      signing_since_version integer not null default 1,
      old_secrets_until timestamptz,
      failing_since timestamptz,
      disabled_at timestamptz,
      disabled_reason text,
      created_at timestamptz not null default now(),
      check (signing_since_version between 1 and secret_version)
    )`.execute(db);
  await sql`create index webhooks_listing on webhooks (client, id desc)`.execute(db);

  // The body is kept as text: every attempt sends the same bytes.
  await sql`
    create table webhook_deliveries (
      id uuid primary key,
      webhook_id uuid not null references webhooks (id) on delete cascade,
      event_id text not null,
      type text not null,
      body text not null,
      status text not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'FAILED')),
      attempts integer not null default 0,
      next_attempt_at timestamptz default now(),
      last_status smallint,
      last_error text,
      created_at timestamptz not null default now(),
      delivered_at timestamptz,
      unique (webhook_id, event_id),
      check ((next_attempt_at is not null) = (status = 'PENDING')),
      check ((delivered_at is not null) = (status = 'DELIVERED'))
    )`.execute(db);
  await sql`create index webhook_deliveries_due on webhook_deliveries (next_attempt_at) where status = 'PENDING'`.execute(
    db,
  );
  await sql`create index webhook_deliveries_listing on webhook_deliveries (webhook_id, id desc)`.execute(db);
}
