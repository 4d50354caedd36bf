import { rmSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { stringify } from 'csv-stringify/sync';
import type { Refusal } from './deliver.ts';
import { isNoteColumn, noteColumns, type RowSource } from './row.ts';

/** The rows that were not taken, with line and reason, in a form that can be corrected and sent. */
export class RefusedFile {
  readonly path: string;
  readonly #source: Pick<RowSource, 'format' | 'columns' | 'delimiter'>;
  #isOpen = false;

  constructor(file: string, source: Pick<RowSource, 'format' | 'columns' | 'delimiter'>) {
    this.path = `${file.replace(/\.(?:csv|ndjson|jsonl)$/i, '')}.refused.${source.format}`;
    this.#source = source;
    // That of an earlier run would pass for one of this run.
    rmSync(this.path, { force: true });
  }

  async add(refusals: readonly Refusal[]): Promise<void> {
    if (refusals.length === 0) return;
    const { format, delimiter, columns } = this.#source;
    if (!this.#isOpen) {
      const header = format === 'csv' ? stringify([[...columns.filter(isOwn), ...noteColumns]], { delimiter }) : '';
      await writeFile(this.path, header);
      this.#isOpen = true;
    }
    await appendFile(this.path, format === 'csv' ? this.#toCsv(refusals) : refusals.map(toJson).join(''));
  }

  /** What a spreadsheet would take for a formula begins with an apostrophe; it is taken away when the file is sent. */
  #toCsv(refusals: readonly Refusal[]): string {
    const { columns, delimiter } = this.#source;
    const rows = refusals.map(({ row, code, reason }) => {
      const isWhole = typeof row.source !== 'string';
      const cells = columns.flatMap((name, index) => (isOwn(name) ? [isWhole ? (row.source[index] ?? '') : ''] : []));
      return [...cells, row.line, code, reason, isWhole ? '' : row.source];
    });
    return stringify(rows, { delimiter, escape_formulas: true });
  }
}

function isOwn(column: string): boolean {
  return !isNoteColumn(column);
}

function toJson({ row, code, reason }: Refusal): string {
  const notes = { semel_line: row.line, semel_code: code, semel_reason: reason };
  let original: object;
  try {
    const value: unknown = JSON.parse(String(row.source));
    original =
      typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { semel_text: row.source };
  } catch {
    original = { semel_text: row.source };
  }
  return `${JSON.stringify({ ...original, ...notes })}\n`;
}
