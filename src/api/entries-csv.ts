import { stringify } from 'csv-stringify/sync';
import type { Database } from '../store/database.ts';
import { type EntryStatus, listEntries, type MailingEntryRow } from '../store/mailings/mailing-entries.ts';
import type { ApiContext } from './api-env.ts';
import { entryView } from './mailing-view.ts';

const columns = [
  'line',
  'email',
  'status',
  'attempts',
  'externalId',
  'invalidReason',
  'lastError',
  'sentAt',
  'verifiedAt',
] as const;

/** Enough rows that a query for them pays, and few enough that memory stays flat for a million. */
const pageSize = 2_000;

/** All entries as a file for a spreadsheet, page by page. What a spreadsheet would take for a formula begins with '. */
export function streamEntriesCsv(
  db: Database,
  c: ApiContext,
  mailing: { id: string; filename: string },
  filter: { status?: EntryStatus | undefined },
): Response {
  const body = ReadableStream.from(writePages(db, mailing.id, filter)).pipeThrough(new TextEncoderStream());
  const name = mailing.filename.replaceAll(/[^A-Za-z0-9._-]/g, '_').replace(/\.csv$/i, '');
  return new Response(body, {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}-entries.csv"`,
      'x-request-id': c.get('requestId'),
    },
  });
}

async function* writePages(
  db: Database,
  mailingId: string,
  filter: { status?: EntryStatus | undefined },
): AsyncGenerator<string> {
  yield `${columns.join(',')}\n`;
  let after = 0;
  for (;;) {
    const rows = await listEntries(db, mailingId, filter, { limit: pageSize, after });
    if (rows.length > 0) yield stringify(rows.map(cellsOf), { escape_formulas: true });
    if (rows.length < pageSize) return;
    after = rows.at(-1)?.line ?? after;
  }
}

function cellsOf(row: MailingEntryRow): (string | number | null)[] {
  const view = entryView(row);
  return columns.map((column) => view[column]);
}
