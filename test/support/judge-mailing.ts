import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import type { CountingSink } from './counting-sink.ts';

export interface MailingVerdict {
  entries: number;
  sent: number;
  failed: number;
  unknown: number;
  invalid: number;
  suppressed: number;
}

/** Judges by the entries and the sink alone, and holds the counts that the service keeps against them. */
export async function judgeMailing(db: Database, mailingId: string, sink?: CountingSink): Promise<MailingVerdict> {
  const { rows } = await sql<{ line: number; status: string }>`
    select line, status from mailing_entries where mailing_id = ${mailingId}::uuid`.execute(db);
  const count = (status: string) => rows.filter((row) => row.status === status).length;
  const verdict = {
    entries: rows.length,
    sent: count('SENT'),
    failed: count('FAILED'),
    unknown: count('UNKNOWN'),
    invalid: count('INVALID'),
    suppressed: count('SUPPRESSED'),
  };
  const { entries, ...settled } = verdict;
  const sum = Object.values(settled).reduce((total, each) => total + each, 0);
  expect(sum, 'every entry is settled').toBe(entries);
  const kept = await sql<MailingVerdict>`
    select m.lines - m.duplicates as entries, sum(sent)::integer as sent, sum(failed)::integer as failed,
      sum(unknown)::integer as unknown, sum(invalid)::integer as invalid, sum(suppressed)::integer as suppressed
    from mailings m join mailing_batches b on b.mailing_id = m.id where m.id = ${mailingId}::uuid group by m.id`.execute(
    db,
  );
  expect(kept.rows[0], 'the counts are the truth').toEqual(verdict);
  if (sink) judgeSink(mailingId, rows, sink);
  return verdict;
}

/** What arrived is what was SENT, and some of what nobody knows about. */
function judgeSink(mailingId: string, rows: readonly { line: number; status: string }[], sink: CountingSink): void {
  const taken = new Set([...sink.taken.keys()].filter((id) => id.startsWith(`<${mailingId}.`)));
  const idsOf = (...statuses: string[]) =>
    rows.filter((row) => statuses.includes(row.status)).map((row) => `<${mailingId}.${row.line}@localhost>`);
  expect(
    idsOf('SENT').filter((id) => !taken.has(id)),
    'SENT and not arrived',
  ).toEqual([]);
  const mayHaveArrived = new Set(idsOf('SENT', 'UNKNOWN'));
  expect(
    [...taken].filter((id) => !mayHaveArrived.has(id)),
    'arrived and not SENT or UNKNOWN',
  ).toEqual([]);
}

export function arrivedTwice(sink: CountingSink): string[] {
  return [...sink.taken].filter(([, times]) => times > 1).map(([id]) => id);
}
