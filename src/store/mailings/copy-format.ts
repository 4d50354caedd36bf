import type { InvalidReason } from './mailing-entries.ts';

export interface EntryDraft {
  line: number;
  email: string | null;
  /** 32 hexadecimal digits. */
  token: string;
  invalidReason: InvalidReason | null;
  lastError: string | null;
  raw: string | null;
  /** A JSON array of the row's cells. */
  cells: string | null;
}

/** A row of `mailing_entries` in COPY's text format. The columns are those that `ingest.ts` copies, in their order. */
export function formatCopyRow(mailingId: string, entry: EntryDraft): string {
  const { line, email, token, invalidReason, lastError, raw, cells } = entry;
  const status = invalidReason === null ? 'PENDING' : 'INVALID';
  return `${mailingId}\t${line}\t${cell(email)}\t${token}\t${status}\t${invalidReason ?? '\\N'}\t${cell(lastError)}\t${cell(raw)}\t${cell(cells)}\n`;
}

const special = /[\\\t\n\r]/;
const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function cell(value: string | null): string {
  if (value === null) return '\\N';
  if (!special.test(value)) return value;
  return value.replaceAll(/[\\\t\n\r]/g, (character) => escapes[character] ?? character);
}
