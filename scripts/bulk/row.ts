/** A row of the file: what it asks for, or why it cannot be asked. */
export interface Row {
  /** Where it begins in the file, from 1. */
  readonly line: number;
  readonly key?: string;
  readonly request?: unknown;
  /** What is wrong with it, for whoever made the file. */
  readonly fault?: string;
  /** As it stands in the file, for the file of refused rows: its cells, or its text. */
  readonly source: readonly string[] | string;
}

/** A file that is being read, whatever its format. */
export interface RowSource {
  readonly format: 'csv' | 'ndjson';
  /** Of CSV, the header. */
  readonly columns: readonly string[];
  readonly delimiter: string;
  readonly totalBytes: number;
  /** How much of it was read so far. */
  readonly readBytes: () => number;
  readonly rows: AsyncGenerator<Row[]>;
}

/** What the file of refused rows adds to a row. A file that has them, because it is such a file, may be sent as it is. */
export const noteColumns = ['semel_line', 'semel_code', 'semel_reason', 'semel_text'] as const;

export function isNoteColumn(name: string): boolean {
  return noteColumns.some((note) => note === name);
}
