import { randomBytes } from 'node:crypto';
import { BloomFilter } from 'bloomfilter';
import { formatCopyRow } from '../../store/mailings/copy-format.ts';
import type { BatchDraft, IngestChunk } from '../../store/mailings/ingest.ts';
import type { CheckedRow } from './check-row.ts';

/** Large enough that a commit costs little, small enough that pausing, progress and a restart after a crash are quick. */
export const rowsPerChunk = 10_000;
/** A million rows are two thousand jobs, each of which is through in a moment. */
const rowsPerBatch = 500;

/** Tells whether an address may have been there before. False means that it certainly was not. */
export type MaySee = (email: string) => boolean;

/**
 * A Bloom filter with a bit for each byte of the file, which is about one wrong guess in a thousand rows; whoever it
 * suspects wrongly is only written the slower way. Its memory is small and fixed, which a set of addresses is not.
 */
export function createSuspicion(fileBytes: number): MaySee {
  const filter = new BloomFilter(Math.min(Math.max(fileBytes, 65_536), 2 ** 28), 5);
  return (email) => {
    const isSeen = filter.test(email);
    if (!isSeen) filter.add(email);
    return isSeen;
  };
}

/** Makes of checked rows what is written in one transaction. */
export function toChunk(
  mailingId: string,
  rows: readonly CheckedRow[],
  { linesBefore, maySee }: { linesBefore: number; maySee: MaySee },
): IngestChunk {
  const tokens = randomBytes(16 * rows.length).toString('hex');
  const chunk: IngestChunk = {
    fresh: '',
    doubtful: '',
    batches: [],
    linesBefore,
    linesAfter: linesBefore + rows.length,
  };
  let batch: BatchDraft | undefined;
  rows.forEach((row, index) => {
    if (index % rowsPerBatch === 0 || !batch) {
      batch = { fromLine: row.line, toLine: row.line, pending: 0, invalid: 0, doubtful: new Map() };
      chunk.batches.push(batch);
    }
    batch.toLine = row.line;
    const text = formatCopyRow(mailingId, { ...row, token: tokens.slice(32 * index, 32 * index + 32) });
    const status = row.invalidReason === null ? 'PENDING' : 'INVALID';
    if (row.email !== null && maySee(row.email)) {
      chunk.doubtful += text;
      batch.doubtful.set(row.line, status);
    } else {
      chunk.fresh += text;
      if (status === 'PENDING') batch.pending += 1;
      else batch.invalid += 1;
    }
  });
  return chunk;
}
