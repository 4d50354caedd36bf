import { finished } from 'node:stream/promises';
import { sql } from 'kysely';
import type { ClientBase } from 'pg';
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams';
import type { Database } from '../database.ts';
import { removeFromOutbox } from '../outbox.ts';
import { type BatchJob, completeMailing, queueBatches } from './mailing-batches.ts';
import { addMailingHistory } from './mailing-history.ts';
import type { MailingFailure, MailingRow } from './mailings.ts';

/** A connection of its own, because COPY needs what the pool's connections do not offer. */
export type CopyClient = ClientBase;

/** A stretch of the file, ready to be written. */
export interface IngestChunk {
  /** Rows as COPY's text format has them: those whose address was certainly not seen before, and the rest. */
  fresh: string;
  doubtful: string;
  batches: BatchDraft[];
  /** How many rows of the file were read by now, and by the chunk before. */
  linesBefore: number;
  linesAfter: number;
}

export interface BatchDraft {
  fromLine: number;
  toLine: number;
  pending: number;
  invalid: number;
  /** The status of each doubtful line. Those that turn out to be duplicates do not count. */
  doubtful: Map<number, 'PENDING' | 'INVALID'>;
}

/** What the writer of an ingest holds. A later one has a higher epoch, and this one can write nothing any more. */
export interface IngestClaim {
  mailingId: string;
  epoch: number;
}

/** Takes a mailing for reading its file. Undefined if it is not to be read (any more). */
export async function beginIngest(db: Database, mailingId: string, actor: string): Promise<MailingRow | undefined> {
  return await db.transaction().execute(async (tx) => {
    const before = await tx
      .selectFrom('mailings')
      .select('status')
      .where('id', '=', mailingId)
      .forUpdate()
      .executeTakeFirst();
    if (before?.status !== 'QUEUED' && before?.status !== 'INGESTING') return undefined;
    if (before.status === 'QUEUED') {
      await addMailingHistory(tx, { mailingId, from: 'QUEUED', to: 'INGESTING', actor });
    }
    return await tx
      .updateTable('mailings')
      .set((eb) => ({
        status: 'INGESTING',
        ingest_epoch: eb('ingest_epoch', '+', 1),
        started_at: sql<Date>`coalesce(started_at, clock_timestamp())`,
        last_error: null,
      }))
      .where('id', '=', mailingId)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
}

const copiedColumns = 'mailing_id, line, email, token, status, invalid_reason, last_error, raw, cells';

/** Doubtful rows come here first. It is empty again after each transaction. */
export async function prepareForCopy(client: CopyClient): Promise<void> {
  await client.query(
    'create temp table staged_entries (like mailing_entries including defaults) on commit delete rows',
  );
}

/** Writes a chunk and how far the file is read, in one transaction. False if the mailing was halted or taken over. */
export async function writeChunk(
  client: CopyClient,
  claim: IngestClaim,
  chunk: IngestChunk,
  onLocked: () => void = () => undefined,
): Promise<boolean> {
  await client.query('begin');
  try {
    const { rows } = await client.query(
      `select batches from mailings where id = $1 and ingest_epoch = $2 and status = 'INGESTING' and lines = $3 for update`,
      [claim.mailingId, claim.epoch, chunk.linesBefore],
    );
    const isMine = rows.length === 1;
    onLocked();
    if (isMine) await writeRows(client, claim, chunk, Number(rows[0].batches));
    await client.query(isMine ? 'commit' : 'rollback');
    return isMine;
  } catch (error) {
    // If this fails too, the connection is gone and the transaction with it; the first error says why.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function writeRows(client: CopyClient, { mailingId }: IngestClaim, chunk: IngestChunk, batches: number) {
  if (chunk.fresh !== '') await copyInto(client, 'mailing_entries', chunk.fresh);
  const inserted = chunk.doubtful === '' ? new Set<number>() : await insertDoubtful(client, chunk.doubtful);
  let entries = 0;
  const counted = chunk.batches.map(({ doubtful, ...draft }, index) => {
    for (const [line, status] of doubtful) {
      if (!inserted.has(line)) continue;
      if (status === 'PENDING') draft.pending += 1;
      else draft.invalid += 1;
    }
    entries += draft.pending + draft.invalid;
    return { ...draft, batch: batches + index + 1 };
  });
  await client.query(
    `insert into mailing_batches (mailing_id, batch, from_line, to_line, pending, invalid, is_done)
     select $1, batch, "fromLine", "toLine", pending, invalid, pending = 0
     from jsonb_to_recordset($2::jsonb)
       as b (batch integer, "fromLine" integer, "toLine" integer, pending integer, invalid integer)`,
    [mailingId, JSON.stringify(counted)],
  );
  await client.query(
    `update mailings set lines = $2, duplicates = duplicates + $3, batches = batches + $4, open_batches = open_batches + $5
     where id = $1`,
    [
      mailingId,
      chunk.linesAfter,
      chunk.linesAfter - chunk.linesBefore - entries,
      counted.length,
      counted.filter(({ pending }) => pending > 0).length,
    ],
  );
}

/** The lines that are in now; the others have an address that was there already. Of equal ones the first stays. */
async function insertDoubtful(client: CopyClient, text: string): Promise<Set<number>> {
  await copyInto(client, 'staged_entries', text);
  const { rows } = await client.query<{ line: number }>(
    `insert into mailing_entries (${copiedColumns}) select ${copiedColumns} from staged_entries order by line
     on conflict (mailing_id, email) do nothing returning line`,
  );
  return new Set(rows.map((row) => row.line));
}

async function copyInto(client: CopyClient, table: string, text: string): Promise<void> {
  const stream: CopyStreamQuery = client.query(copyFrom(`copy ${table} (${copiedColumns}) from stdin`));
  stream.end(text);
  await finished(stream);
}

/** The whole file is read: what is in it is sent now. Undefined if the mailing was halted or taken over. */
export async function finishIngest(
  db: Database,
  claim: IngestClaim,
  by: { outboxId: string; actor: string },
): Promise<BatchJob[] | undefined> {
  const { mailingId, epoch } = claim;
  return await db.transaction().execute(async (tx) => {
    const mailing = await tx
      .updateTable('mailings')
      .set({ status: 'SENDING', ingested_at: sql<Date>`clock_timestamp()` })
      .where('id', '=', mailingId)
      .where('ingest_epoch', '=', epoch)
      .where('status', '=', 'INGESTING')
      .returning('open_batches')
      .executeTakeFirst();
    if (!mailing) return undefined;
    await removeFromOutbox(tx, [by.outboxId]);
    await addMailingHistory(tx, { mailingId, from: 'INGESTING', to: 'SENDING', actor: by.actor });
    await completeMailing(tx, mailingId, by.actor);
    return await queueBatches(tx, mailingId);
  });
}

/** The file cannot be read to its end. Nothing of it was sent, and nothing will be. */
export async function failIngest(
  db: Database,
  claim: IngestClaim,
  by: { outboxId: string; actor: string; failure: MailingFailure },
): Promise<void> {
  const { mailingId, epoch } = claim;
  await db.transaction().execute(async (tx) => {
    const mailing = await tx
      .updateTable('mailings')
      .set({ status: 'FAILED', failure: JSON.stringify(by.failure), completed_at: sql<Date>`clock_timestamp()` })
      .where('id', '=', mailingId)
      .where('ingest_epoch', '=', epoch)
      .where('status', '=', 'INGESTING')
      .returning('id')
      .executeTakeFirst();
    if (!mailing) return;
    await removeFromOutbox(tx, [by.outboxId]);
    await addMailingHistory(tx, {
      mailingId,
      from: 'INGESTING',
      to: 'FAILED',
      actor: by.actor,
      detail: by.failure,
    });
  });
}

/** What is in the way right now, for whoever looks. */
export async function noteIngestTrouble(db: Database, mailingId: string, message: string): Promise<void> {
  await db.updateTable('mailings').set({ last_error: message }).where('id', '=', mailingId).execute();
}
