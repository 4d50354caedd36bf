import type { HitFailpoint } from '../../failpoints.ts';
import type { Database } from '../../store/database.ts';
import { FileMissingError } from '../../store/files/file-missing-error.ts';
import type { FileStorage } from '../../store/files/file-storage.ts';
import {
  beginIngest,
  type CopyClient,
  failIngest,
  finishIngest,
  type IngestClaim,
  prepareForCopy,
  writeChunk,
} from '../../store/mailings/ingest.ts';
import type { BatchJob } from '../../store/mailings/mailing-batches.ts';
import type { MailingFailure, MailingRow } from '../../store/mailings/mailings.ts';
import { type CheckedRow, checkMailServers, createRowCheck, type MxPolicy } from './check-row.ts';
import { CsvError } from './csv/csv-error.ts';
import { readRows } from './csv/read-rows.ts';
import { createSuspicion, rowsPerChunk, toChunk } from './ingest-chunk.ts';

export interface IngestParts {
  db: Database;
  /** A connection for COPY, which the pool's do not offer. It is closed when the work ends. */
  withCopyClient: <T>(work: (client: CopyClient) => Promise<T>) => Promise<T>;
  storage: FileStorage;
  mx: MxPolicy;
  actor: string;
  hitFailpoint: HitFailpoint;
  /** Aborted when the process is to end. */
  stopping: AbortSignal;
}

export type IngestResult =
  | { kind: 'done'; jobs: readonly BatchJob[] }
  | { kind: 'failed'; failure: MailingFailure }
  /** Paused, cancelled, taken over by another worker, or finished before. */
  | { kind: 'left' }
  /** The process is to end; another one goes on where this one was. */
  | { kind: 'interrupted' };

/**
 * Reads the file of a mailing into entries. How far it came is committed with the entries, so a run after a crash
 * skips what is there. It reads the file from its beginning for that, which takes two or three seconds for a million rows.
 */
export async function ingestFile(
  parts: IngestParts,
  job: { mailingId: string; outboxId: string },
): Promise<IngestResult> {
  const mailing = await beginIngest(parts.db, job.mailingId, parts.actor);
  if (!mailing) return { kind: 'left' };
  const claim = { mailingId: mailing.id, epoch: mailing.ingest_epoch };
  const by = { outboxId: job.outboxId, actor: parts.actor };
  try {
    const end = await parts.withCopyClient((client) => copyRows(parts, client, mailing, claim));
    if (end !== 'whole') return { kind: end };
    const jobs = await finishIngest(parts.db, claim, by);
    return jobs ? { kind: 'done', jobs } : { kind: 'left' };
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    await failIngest(parts.db, claim, { ...by, failure });
    return { kind: 'failed', failure };
  }
}

async function copyRows(
  parts: IngestParts,
  client: CopyClient,
  mailing: MailingRow,
  claim: IngestClaim,
): Promise<'whole' | 'left' | 'interrupted'> {
  await prepareForCopy(client);
  const source = await parts.storage.read(mailing.file_name);
  const maySee = mailing.lines === 0 ? createSuspicion(mailing.file_bytes) : () => true;
  let lines = mailing.lines;
  // A chunk is read and checked while the one before is being written.
  let writing: Promise<boolean> = Promise.resolve(true);
  try {
    for await (const rows of readChunks(parts, mailing, source)) {
      if (parts.stopping.aborted) return (await writing) ? 'interrupted' : 'left';
      const chunk = toChunk(mailing.id, rows, { linesBefore: lines, maySee });
      if (!(await writing)) return 'left';
      lines = chunk.linesAfter;
      const onLocked = () => parts.hitFailpoint('ingest.locked');
      writing = writeChunk(client, claim, chunk, onLocked).then((isWritten) => {
        parts.hitFailpoint('ingest.written');
        return isWritten;
      });
      // It is awaited one round later; until then a failure must not look like one that nobody handles.
      writing.catch(() => undefined);
    }
    return (await writing) ? 'whole' : 'left';
  } finally {
    source.destroy();
    await writing.catch(() => undefined);
  }
}

async function* readChunks(
  parts: IngestParts,
  mailing: MailingRow,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<CheckedRow[]> {
  const check = createRowCheck(mailing);
  let chunk: CheckedRow[] = [];
  for await (const rows of readRows(source, mailing.format, { skipRows: mailing.lines })) {
    for (const row of rows) {
      chunk.push(check(row));
      if (chunk.length < rowsPerChunk) continue;
      await checkMailServers(chunk, parts.mx);
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length === 0) return;
  await checkMailServers(chunk, parts.mx);
  yield chunk;
}

/** What no later attempt can mend. Everything else, such as a storage that is away, is tried again. */
function failureOf(error: unknown): MailingFailure | undefined {
  if (error instanceof CsvError) return { code: error.code, message: error.message, line: error.line };
  if (error instanceof FileMissingError) return { code: 'FILE_MISSING', message: 'The uploaded file is gone.' };
  return undefined;
}
