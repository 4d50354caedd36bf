import { type Generated, type Selectable, sql } from 'kysely';
import type { Instant, Json, NullableInstant, NullableJson } from '../columns.ts';
import type { Database, DatabaseTransaction } from '../database.ts';

export const mailingStatuses = [
  'QUEUED',
  'INGESTING',
  'SENDING',
  'PAUSED',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const;
export type MailingStatus = (typeof mailingStatuses)[number];

/** How the file is to be read, as its first bytes told. */
export interface FileFormat {
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
  delimiter: ',' | ';' | '\t';
  columns: string[];
  emailColumn: number;
}

/** Why a file could not be read to its end. */
export interface MailingFailure {
  code: string;
  message: string;
  line?: number | undefined;
}

export interface MailingsTable {
  /** The id of the record that stands for the upload. */
  id: string;
  client: string;
  filename: string;
  /** Of the file's bytes together with subject, texts and sender. */
  content_hash: string;
  /** Whether the client named it by a key, and not by filename and content. */
  keyed: boolean;
  status: Generated<MailingStatus>;
  file_name: string;
  file_bytes: number;
  format: Json<FileFormat>;
  subject: string;
  body_text: string | null;
  body_html: string | null;
  sender: string;
  rate_per_second: number | null;
  /** Rows of the file that were read so far: where an interrupted ingest goes on. */
  lines: Generated<number>;
  duplicates: Generated<number>;
  ingest_epoch: Generated<number>;
  ingested_at: NullableInstant;
  batches: Generated<number>;
  open_batches: Generated<number>;
  completions: Generated<number>;
  /** With a rate: when the next share of mails may be sent. */
  next_send_at: NullableInstant;
  throttle_level: Generated<number>;
  throttled_until: NullableInstant;
  last_error: string | null;
  failure: NullableJson<MailingFailure>;
  created_at: Instant;
  started_at: NullableInstant;
  completed_at: NullableInstant;
}

export type MailingRow = Selectable<MailingsTable>;

export interface NewMailing {
  id: string;
  client: string;
  filename: string;
  contentHash: string;
  keyed: boolean;
  fileName: string;
  fileBytes: number;
  format: FileFormat;
  subject: string;
  text: string | null;
  html: string | null;
  sender: string;
  ratePerSecond: number | null;
}

export interface MailingTotals {
  pending: number;
  sending: number;
  sent: number;
  failed: number;
  unknown: number;
  invalid: number;
  suppressed: number;
}

export type MailingWithTotals = MailingRow & MailingTotals;

export async function insertMailing(tx: DatabaseTransaction, mailing: NewMailing): Promise<MailingRow> {
  return await tx
    .insertInto('mailings')
    .values({
      id: mailing.id,
      client: mailing.client,
      filename: mailing.filename,
      content_hash: mailing.contentHash,
      keyed: mailing.keyed,
      file_name: mailing.fileName,
      file_bytes: mailing.fileBytes,
      format: JSON.stringify(mailing.format),
      subject: mailing.subject,
      body_text: mailing.text,
      body_html: mailing.html,
      sender: mailing.sender,
      rate_per_second: mailing.ratePerSecond,
      last_error: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Two uploads of one client that share a filename or a content decide one after the other which mailing is theirs. */
export async function lockIdentity(
  tx: DatabaseTransaction,
  file: { client: string; filename: string; contentHash: string },
): Promise<void> {
  const names = [`filename ${file.client} ${file.filename}`, `content ${file.client} ${file.contentHash}`];
  // Sorted by the number that is locked, so that two uploads never wait for each other.
  await sql`
    select pg_advisory_xact_lock(number) from (
      select distinct hashtextextended(name, 5343) as number from unnest(${names}::text[]) name order by 1) numbers`.execute(
    tx,
  );
}

/** The mailings that an upload may be a repetition of, oldest first. Files that could not be read do not count. */
export async function findSameFile(
  tx: DatabaseTransaction,
  file: { client: string; filename: string; contentHash: string },
): Promise<MailingRow[]> {
  return await tx
    .selectFrom('mailings')
    .selectAll()
    .where('client', '=', file.client)
    .where('status', '<>', 'FAILED')
    .where((eb) => eb.or([eb('filename', '=', file.filename), eb('content_hash', '=', file.contentHash)]))
    .orderBy('id')
    .execute();
}

const totals = sql<MailingTotals>`
  coalesce(sum(pending), 0)::integer as pending, coalesce(sum(sending), 0)::integer as sending,
  coalesce(sum(sent), 0)::integer as sent, coalesce(sum(failed), 0)::integer as failed,
  coalesce(sum(unknown), 0)::integer as unknown, coalesce(sum(invalid), 0)::integer as invalid,
  coalesce(sum(suppressed), 0)::integer as suppressed`;

export async function findMailing(db: Database, client: string, id: string): Promise<MailingWithTotals | undefined> {
  const result = await sql<MailingWithTotals>`
    select m.*, t.* from mailings m
    cross join lateral (select ${totals} from mailing_batches b where b.mailing_id = m.id) t
    where m.id = ${id}::uuid and m.client = ${client}`.execute(db);
  return result.rows[0];
}

/** By its id alone: for whoever works on it. */
export async function readMailing(db: Database, id: string): Promise<MailingRow | undefined> {
  return await db.selectFrom('mailings').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Newest first. `before` is the last id of the page before. */
export async function listMailings(
  db: Database,
  client: string,
  filter: { status?: MailingStatus | undefined },
  page: { limit: number; before: string | undefined },
): Promise<MailingWithTotals[]> {
  const status = filter.status ?? null;
  const before = page.before ?? null;
  const result = await sql<MailingWithTotals>`
    select m.*, t.* from (
      select * from mailings where client = ${client} and (${status}::text is null or status = ${status})
        and (${before}::uuid is null or id < ${before}::uuid)
      order by id desc limit ${page.limit}) m
    cross join lateral (select ${totals} from mailing_batches b where b.mailing_id = m.id) t
    order by m.id desc`.execute(db);
  return result.rows;
}
