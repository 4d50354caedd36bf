import type { EntryDraft } from '../../store/mailings/copy-format.ts';
import type { InvalidReason } from '../../store/mailings/mailing-entries.ts';
import type { MailingRow } from '../../store/mailings/mailings.ts';
import { isDisposable } from './addresses/is-disposable.ts';
import type { MxChecker } from './addresses/mx-checker.ts';
import { normalizeAddress } from './addresses/normalize-address.ts';
import type { CsvRow } from './csv/read-rows.ts';
import { columnsUsedBy } from './template.ts';

/** What an entry is before it has its token. */
export type CheckedRow = Omit<EntryDraft, 'token'>;
export type CheckRow = (row: CsvRow) => CheckedRow;

export interface MxPolicy {
  mode: 'off' | 'warn' | 'strict';
  checker: MxChecker;
}

/** As much of a bad row as somebody needs to find it again. */
const maxRawLength = 1_000;
/** What would begin another header, or break a line in two. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const unfitForSubject = /[\u0000-\u001f\u007f\u2028\u2029]/;

/** Makes an entry of each row of the file: one that will be sent, or one that says why not. */
export function createRowCheck(mailing: Pick<MailingRow, 'format' | 'subject'>): CheckRow {
  const { columns, emailColumn } = mailing.format;
  const subjectColumns = columnsUsedBy(mailing.subject, columns);
  return (row) => {
    if (row.cells === undefined) return invalid(row.line, 'malformed_row', { raw: row.text, lastError: row.reason });
    const raw = row.cells[emailColumn] ?? '';
    const cells = columns.length > 1 ? JSON.stringify(row.cells) : null;
    const broken = subjectColumns.find((column) => unfitForSubject.test(row.cells[column] ?? ''));
    if (broken !== undefined) {
      const lastError = `the subject uses ${columns[broken]}, which has a line break or another control character here`;
      return { ...invalid(row.line, 'malformed_row', { raw, lastError }), cells };
    }
    const email = normalizeAddress(raw);
    if (email === undefined) return { ...invalid(row.line, 'syntax', { raw, lastError: null }), cells };
    const invalidReason = isDisposable(domainOf(email)) ? ('disposable' as const) : null;
    return { line: row.line, email, invalidReason, lastError: null, raw: invalidReason && raw, cells };
  };
}

/** Asks for the mail servers of all domains at once. A name server that does not answer invalidates nobody. */
export async function checkMailServers(rows: readonly CheckedRow[], policy: MxPolicy): Promise<void> {
  if (policy.mode === 'off') return;
  const valid = rows.filter((row) => row.invalidReason === null && row.email !== null);
  const domains = new Set(valid.map((row) => domainOf(row.email ?? '')));
  const verdicts = new Map(
    await Promise.all([...domains].map(async (domain) => [domain, await policy.checker.check(domain)] as const)),
  );
  for (const row of valid) {
    if (verdicts.get(domainOf(row.email ?? '')) !== 'none') continue;
    row.lastError = 'the domain has no mail server';
    if (policy.mode === 'strict') {
      row.invalidReason = 'mx';
      row.raw = row.email;
    }
  }
}

function invalid(
  line: number,
  invalidReason: InvalidReason,
  { raw, lastError }: { raw: string; lastError: string | null },
): CheckedRow {
  return { line, email: null, invalidReason, lastError, raw: raw.slice(0, maxRawLength), cells: null };
}

function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1);
}
