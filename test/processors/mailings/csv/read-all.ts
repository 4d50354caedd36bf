import type { CsvFormat } from '../../../../src/processors/mailings/csv/inspect-head.ts';
import { type CsvRow, readRows } from '../../../../src/processors/mailings/csv/read-rows.ts';

export async function* inChunks(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  if (chunkBytes >= bytes.length) yield bytes;
  else for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** The rows up to the end or the error that ended them. */
export async function readAll(
  source: Uint8Array | AsyncIterable<Uint8Array>,
  format: CsvFormat,
  options: { chunkBytes?: number; skipRows?: number } = {},
): Promise<{ rows: CsvRow[]; error: Error | undefined }> {
  const { chunkBytes = 65_536, skipRows = 0 } = options;
  const chunks = source instanceof Uint8Array ? inChunks(source, chunkBytes) : source;
  const rows: CsvRow[] = [];
  try {
    for await (const some of readRows(chunks, format, { skipRows })) rows.push(...some);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { rows, error };
  }
  return { rows, error: undefined };
}
