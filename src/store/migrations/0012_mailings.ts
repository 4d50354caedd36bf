import { type Kysely, sql } from 'kysely';

/** Mailings, their entries in batches, who wants no more mail, and what happened to each mailing. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createMailings(db);
  await createEntries(db);
  await sql`
    create table mailing_history (
      mailing_id uuid not null references mailings (id) on delete cascade,
      id bigint generated always as identity,
      at timestamptz not null default clock_timestamp(),
      from_status text,
      to_status text not null,
      actor text not null,
      detail jsonb,
      primary key (mailing_id, id)
    )`.execute(db);
  await sql`
    create table suppressions (
      client text not null,
      email text not null,
      reason text not null check (reason in ('unsubscribed', 'bounced', 'added')),
      mailing_id uuid,
      created_at timestamptz not null default now(),
      primary key (client, email)
    )`.execute(db);
  // An entry that gave up leaves a dead letter too. Its record is the upload's, so the line tells them apart.
  await sql`alter table dead_letters add column line integer`.execute(db);
  await sql`alter table dead_letters drop constraint dead_letters_record_id_generation_key`.execute(db);
  await sql`
    create unique index dead_letters_once on dead_letters (record_id, generation, coalesce(line, 0))`.execute(db);
}

async function createMailings(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table mailings (
      id uuid primary key,
      client text not null,
      filename text not null,
      content_hash text not null,
      keyed boolean not null,
      status text not null default 'QUEUED' check (
        status in ('QUEUED', 'INGESTING', 'SENDING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED')),
      file_name text not null,
      file_bytes bigint not null,
      format jsonb not null,
      subject text not null,
      body_text text,
      body_html text,
      sender text not null,
      rate_per_second integer check (rate_per_second > 0),
      lines integer not null default 0,
      duplicates integer not null default 0,
      ingest_epoch integer not null default 0,
      ingested_at timestamptz,
      batches integer not null default 0,
      open_batches integer not null default 0 check (open_batches >= 0),
      completions integer not null default 0,
      next_send_at timestamptz,
      throttle_level smallint not null default 0,
      throttled_until timestamptz,
      last_error text,
      failure jsonb,
      created_at timestamptz not null default now(),
      started_at timestamptz,
      completed_at timestamptz
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index mailings_listing on mailings (client, id desc)`.execute(db);
  // A file that could not be read sent nothing, so it stands in nobody's way.
  await sql`
    create unique index mailings_file on mailings (client, filename, content_hash)
    where not keyed and status <> 'FAILED'`.execute(db);
  await sql`create index mailings_content on mailings (client, content_hash)`.execute(db);
}

/**
 * The status of an entry is in no index: each entry changes it at least twice, and like this both are cheap in-page
 * (HOT) updates. Who looks for a status is led to the right lines by the counts of the batches.
 */
async function createEntries(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table mailing_entries (
      mailing_id uuid not null,
      line integer not null,
      email text,
      token uuid not null,
      status text not null check (
        status in ('PENDING', 'SENDING', 'SENT', 'FAILED', 'INVALID', 'UNKNOWN', 'SUPPRESSED')),
      epoch integer not null default 0,
      attempts smallint not null default 0,
      throttles smallint not null default 0,
      next_attempt_at timestamptz,
      sent_at timestamptz,
      sent_epoch integer,
      verified_at timestamptz,
      invalid_reason text check (invalid_reason in ('syntax', 'disposable', 'mx', 'malformed_row')),
      external_id text,
      last_error text,
      raw text,
      cells json,
      primary key (mailing_id, line)
    ) with (fillfactor = 75)`.execute(db);
  // The address comes first, so that nothing but the primary key leads to the entries of a mailing: Postgres took this
  // index for that while its statistics knew only other mailings, and read the whole mailing for every few mails.
  await sql`create unique index mailing_entries_address on mailing_entries (email, mailing_id)`.execute(db);
  await sql`create unique index mailing_entries_token on mailing_entries (token)`.execute(db);
  await sql`
    create table mailing_batches (
      mailing_id uuid not null references mailings (id) on delete cascade,
      batch integer not null,
      from_line integer not null,
      to_line integer not null,
      is_done boolean not null default false,
      is_queued boolean not null default false,
      run integer not null default 0,
      epoch integer not null default 0,
      pending integer not null default 0 check (pending >= 0),
      sending integer not null default 0 check (sending >= 0),
      sent integer not null default 0 check (sent >= 0),
      failed integer not null default 0 check (failed >= 0),
      unknown integer not null default 0 check (unknown >= 0),
      invalid integer not null default 0,
      suppressed integer not null default 0,
      primary key (mailing_id, batch),
      check (not is_done or (pending = 0 and sending = 0))
    ) with (fillfactor = 50)`.execute(db);
  // The claims under which a mail was sent although it was sent under another one, too.
  await sql`
    create table mailing_sends (
      mailing_id uuid not null references mailings (id) on delete cascade,
      line integer not null,
      epoch integer not null,
      at timestamptz not null default now(),
      primary key (mailing_id, line, epoch)
    )`.execute(db);
}
