import { type ColumnType, type Generated, type Selectable, sql } from 'kysely';
import type { NullableInstant } from '../columns.ts';
import type { Database } from '../database.ts';

export const entryStatuses = ['PENDING', 'SENDING', 'SENT', 'FAILED', 'INVALID', 'UNKNOWN', 'SUPPRESSED'] as const;
export type EntryStatus = (typeof entryStatuses)[number];

export const invalidReasons = ['syntax', 'disposable', 'mx', 'malformed_row'] as const;
export type InvalidReason = (typeof invalidReasons)[number];

/** One row of the file. Together with its mailing, the line is its name, and its Message-ID is made of both. */
export interface MailingEntriesTable {
  mailing_id: string;
  line: number;
  /** Normalised, and unique in its mailing. Null if there is no address in the row. */
  email: string | null;
  token: string;
  status: EntryStatus;
  epoch: Generated<number>;
  attempts: Generated<number>;
  throttles: Generated<number>;
  next_attempt_at: NullableInstant;
  sent_at: NullableInstant;
  /** Of the claim under which it was sent. */
  sent_epoch: number | null;
  verified_at: NullableInstant;
  invalid_reason: InvalidReason | null;
  external_id: string | null;
  last_error: string | null;
  /** Of an invalid row: what the file says. */
  raw: string | null;
  /** The row's cells as a JSON array, if there are more than the address. */
  cells: ColumnType<string | null, string | null, string | null>;
}

export type MailingEntryRow = Selectable<MailingEntriesTable>;

/** By line. `after` is the last line of the page before. The batches' counts lead to those of a rare status. */
export async function listEntries(
  db: Database,
  mailingId: string,
  filter: { status?: EntryStatus | undefined },
  page: { limit: number; after: number },
): Promise<MailingEntryRow[]> {
  if (!filter.status) {
    return await db
      .selectFrom('mailing_entries')
      .selectAll()
      .where('mailing_id', '=', mailingId)
      .where('line', '>', page.after)
      .orderBy('line')
      .limit(page.limit)
      .execute();
  }
  const count = sql.ref(`b.${filter.status.toLowerCase()}`);
  const result = await sql<MailingEntryRow>`
    select e.* from (
      select * from mailing_batches b
      where b.mailing_id = ${mailingId}::uuid and b.to_line > ${page.after} and ${count} > 0 order by b.batch) b
    cross join lateral (
      select * from mailing_entries e
      where e.mailing_id = b.mailing_id and e.line between b.from_line and b.to_line and e.line > ${page.after}
        and e.status = ${filter.status}
      order by e.line) e
    order by b.batch, e.line limit ${page.limit}`.execute(db);
  return result.rows;
}

export async function findEntry(db: Database, mailingId: string, line: number): Promise<MailingEntryRow | undefined> {
  return await db
    .selectFrom('mailing_entries')
    .selectAll()
    .where('mailing_id', '=', mailingId)
    .where('line', '=', line)
    .executeTakeFirst();
}

/** Notes that whoever has the token reads mail at the address. The first time counts. */
export async function verifyEntry(
  db: Database,
  token: string,
): Promise<{ email: string; verified_at: Date; sender: string } | undefined> {
  const result = await sql<{ email: string; verified_at: Date; sender: string }>`
    update mailing_entries e set verified_at = coalesce(e.verified_at, now())
    from mailings m
    where e.token = ${token}::uuid and e.status <> 'INVALID' and m.id = e.mailing_id
    returning e.email, e.verified_at, m.sender`.execute(db);
  return result.rows[0];
}

/** Whose mail the token is from. */
export async function findEntryByToken(
  db: Database,
  token: string,
): Promise<{ email: string; mailing_id: string; client: string; sender: string } | undefined> {
  const result = await sql<{ email: string; mailing_id: string; client: string; sender: string }>`
    select e.email, e.mailing_id, m.client, m.sender from mailing_entries e join mailings m on m.id = e.mailing_id
    where e.token = ${token}::uuid and e.email is not null`.execute(db);
  return result.rows[0];
}
