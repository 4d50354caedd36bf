import type { Row } from './row.ts';

/** Enough that requests cost little, and little enough that few rows are sent again after a broken connection. */
const maxRows = 1_000;

/** Rows in pieces of a size to send, the last one smaller. */
export async function* toBatches(source: AsyncIterable<readonly Row[]>): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  for await (const rows of source) {
    for (const row of rows) {
      batch.push(row);
      if (batch.length < maxRows) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}
