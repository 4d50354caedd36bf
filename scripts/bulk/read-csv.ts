import type { TableFormat } from '../../src/processors/mailings/csv/inspect-head.ts';
import { type CsvRow, readRows } from '../../src/processors/mailings/csv/read-rows.ts';
import { StartError } from '../start/start-error.ts';
import { type RequestFields, toValue } from './request-fields.ts';
import { isNoteColumn, type Row } from './row.ts';
import { deriveKey } from './row-key.ts';

export interface CsvPlan {
  readonly operation: string;
  readonly fields: RequestFields;
  readonly keyColumn: string | undefined;
  readonly ignored: readonly string[];
}

/** Which column is what. A header that cannot be right is refused before anything is sent. */
export function planColumns(format: TableFormat, plan: CsvPlan): (row: CsvRow) => Row {
  const { columns } = format;
  const { fields, keyColumn, ignored } = plan;
  for (const name of [...ignored, ...(keyColumn === undefined ? [] : [keyColumn])]) {
    if (!columns.includes(name)) throw new StartError(`There is no column "${name}"; there are ${list(columns)}.`);
  }
  const isField = (name: string) =>
    name !== '' && !isNoteColumn(name) && !ignored.includes(name) && (name !== keyColumn || fields.types.has(name));
  const used = columns.flatMap((name, index) =>
    isField(name) ? [{ name, index, types: fields.types.get(name) }] : [],
  );
  const unknown = used.filter(({ types }) => types === undefined).map(({ name }) => name);
  if (unknown.length > 0 && fields.types.size > 0) {
    const advice = `${unknown.map((name) => `--ignore ${quote(name)}`).join(' ')} leaves them out`;
    throw new StartError(
      `These columns are no fields of ${plan.operation}: ${list(unknown)}; ${advice}. Its fields are ${list([...fields.types.keys()])}.`,
    );
  }
  const missing = fields.required.filter((name) => !used.some((column) => column.name === name));
  if (missing.length > 0) throw new StartError(`${plan.operation} needs columns that are not there: ${list(missing)}.`);
  const keyIndex = keyColumn === undefined ? -1 : columns.indexOf(keyColumn);
  const wasRefused = columns.some(isNoteColumn);
  return ({ line, ...row }) => {
    if (row.cells === undefined) return { line, source: row.text, fault: `The row ${row.reason}.` };
    const cells = wasRefused ? row.cells.map(withoutEscape) : row.cells;
    const source = cells;
    const request: Record<string, unknown> = {};
    for (const { name, index, types } of used) {
      const value = toValue(cells[index] ?? '', types);
      if (value !== undefined) request[name] = value;
    }
    if (keyIndex === -1) return { line, source, request, key: deriveKey(plan.operation, request) };
    const key = (cells[keyIndex] ?? '').trim();
    return key === ''
      ? { line, source, request, fault: `The column "${keyColumn}" is empty.` }
      : { line, source, request, key };
  };
}

export async function* readCsv(
  source: AsyncIterable<Uint8Array>,
  format: TableFormat,
  toRow: (row: CsvRow) => Row,
): AsyncGenerator<Row[]> {
  for await (const rows of readRows(source, format)) yield rows.map(toRow);
}

/** The file of refused rows is safe for spreadsheets: what they would take for a formula begins with an apostrophe. */
function withoutEscape(cell: string): string {
  return /^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

function list(names: readonly string[]): string {
  return names.filter((name) => name !== '').join(', ');
}

function quote(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name}'`;
}
