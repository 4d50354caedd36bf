import { type Kysely, sql } from 'kysely';

/** What the operator is to be told by mail, one row for each event. All rows of one mail have its Message-ID. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table alerts (
      event_id text primary key,
      client text not null,
      record_id uuid not null,
      operation text not null,
      code text not null,
      status text not null default 'PENDING' check (status in ('PENDING', 'SENDING', 'SENT')),
      message_id text,
      attempts integer not null default 0,
      next_attempt_at timestamptz,
      external_id text,
      last_error text,
      created_at timestamptz not null default now(),
      sent_at timestamptz,
      check (status = 'PENDING' or message_id is not null),
      check ((message_id is null) = (next_attempt_at is null)),
      check ((status = 'SENT') = (sent_at is not null))
    )`.execute(db);
  await sql`create index alerts_unsent on alerts (created_at) where status <> 'SENT'`.execute(db);
  await sql`create index alerts_mail on alerts (message_id) where status <> 'SENT'`.execute(db);
  await sql`create index alerts_sent on alerts (sent_at) where status = 'SENT'`.execute(db);
}
