export type CsvErrorCode = 'CSV_INVALID' | 'CSV_EMPTY';

/** A file that cannot be read on. The message is a sentence for the person who made the file. */
export class CsvError extends Error {
  readonly code: CsvErrorCode;
  /** The physical line that the message is about, from 1. */
  readonly line: number | undefined;

  constructor(code: CsvErrorCode, sentence: string, line?: number) {
    super(line === undefined ? sentence : `Line ${line}: ${sentence}`);
    this.name = 'CsvError';
    this.code = code;
    this.line = line;
  }
}

export function undecodableAt(line: number, encoding: string): CsvError {
  const name = encoding.toUpperCase();
  return new CsvError('CSV_INVALID', `the text is not valid ${name}; save the file as UTF-8.`, line);
}

export function unclosedQuoteAt(line: number): CsvError {
  return new CsvError('CSV_INVALID', 'a quote is opened and never closed.', line);
}
