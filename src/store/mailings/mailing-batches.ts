import { type Generated, sql } from 'kysely';
import type { Database, DatabaseTransaction } from '../database.ts';

/** A stretch of lines that one job sends. Its counts, summed up, are the totals of the mailing. */
export interface MailingBatchesTable {
  mailing_id: string;
  batch: number;
  from_line: number;
  to_line: number;
  is_done: Generated<boolean>;
  /** Whether a job stands for it. */
  is_queued: Generated<boolean>;
  /** How often it was queued: each time under another job id, because BullMQ ignores one that it still knows. */
  run: Generated<number>;
  /** Grows with each worker that takes it, so that the one before can claim nothing any more. */
  epoch: Generated<number>;
  pending: Generated<number>;
  sending: Generated<number>;
  sent: Generated<number>;
  failed: Generated<number>;
  unknown: Generated<number>;
  invalid: Generated<number>;
  suppressed: Generated<number>;
}

export interface BatchJob {
  name: 'send';
  jobId: string;
  data: { mailingId: string; batch: number; outboxId: string };
}

export interface BatchClaim {
  mailingId: string;
  batch: number;
  epoch: number;
}

export interface ClaimedEntry {
  line: number;
  email: string;
  token: string;
  /** Of this claim: the outcome names it. */
  epoch: number;
  attempts: number;
  throttles: number;
  cells: string[] | null;
}

/** What became of a claimed entry, in the words of the type `mail_outcome`. */
export interface EntryOutcome {
  line: number;
  epoch: number;
  status: 'SENT' | 'FAILED' | 'UNKNOWN' | 'PENDING';
  external_id: string | null;
  error: string | null;
  retry_in_ms: number | null;
  /** The server asked for patience: no attempt is used up, and the mailing slows down. */
  is_throttled: boolean;
  /** There is no such mailbox: nothing will be sent there any more. */
  is_bounced: boolean;
}

export type Advance =
  | { state: 'claimed'; entries: ClaimedEntry[]; after: number }
  /** Nothing after the given line is due. */
  | { state: 'end' }
  | { state: 'settled' }
  | { state: 'wait'; waitMs: number }
  /** Paused or cancelled. */
  | { state: 'halted' }
  /** Another worker has taken the batch. */
  | { state: 'lost' };

export type Finish =
  | { state: 'done'; isCompleted: boolean; jobs: BatchJob[] }
  | { state: 'later'; waitMs: number }
  | { state: 'lost' };

/** As many batches of a mailing are in the queue at a time: enough for a dozen workers, and others get their turn. */
const queuedBatches = 32;

/**
 * The epoch of the claim, or undefined if the batch is done. What was in hand of a worker before is in doubt now;
 * `onDoubt` is told how many.
 */
export async function beginBatch(
  db: Database,
  batch: { mailingId: string; batch: number },
  doubt: { resend: boolean; maxAttempts: number; onDoubt?: (entries: number) => void },
): Promise<number | undefined> {
  // The second column is read as it was before the call.
  const { rows } = await sql<{ epoch: number | null; doubtful: number | null }>`
    select begin_batch(${batch.mailingId}::uuid, ${batch.batch}, ${doubt.resend}, ${doubt.maxAttempts}) as epoch,
      (select sending from mailing_batches where mailing_id = ${batch.mailingId}::uuid and batch = ${batch.batch})
        as doubtful`.execute(db);
  const [row] = rows;
  if (row?.epoch && row.doubtful) doubt.onDoubt?.(row.doubtful);
  return row?.epoch ?? undefined;
}

/** Settles what was answered and claims what comes next, in one commit. */
export async function advanceBatch(
  db: Database,
  claim: BatchClaim,
  step: { outcomes: readonly EntryOutcome[]; after: number; limit: number },
): Promise<Advance> {
  const { rows } = await sql<{ result: string }>`
    select advance_batch(${claim.mailingId}::uuid, ${claim.batch}, ${claim.epoch},
      ${JSON.stringify(step.outcomes)}::jsonb, ${step.after}, ${step.limit}) as result`.execute(db);
  return rows[0] ? (JSON.parse(rows[0].result) as Advance) : { state: 'lost' };
}

/** After a claim whose reply was lost: what this worker does not know to be in its hands goes back. */
export async function returnUnsent(db: Database, claim: BatchClaim, knownLines: readonly number[]): Promise<void> {
  await sql`
    select return_unsent(${claim.mailingId}::uuid, ${claim.batch}, ${claim.epoch}, ${knownLines}::integer[])`.execute(
    db,
  );
}

/** Ends the batch if all its entries are settled, and puts the next ones into the queue. */
export async function finishBatch(
  db: Database,
  claim: BatchClaim,
  by: { outboxId: string; actor: string },
): Promise<Finish> {
  const { rows } = await sql<{ result: Finish }>`
    select finish_batch(${claim.mailingId}::uuid, ${claim.batch}, ${claim.epoch}, ${by.outboxId}::uuid,
      ${queuedBatches}, ${by.actor}) as result`.execute(db);
  return rows[0]?.result ?? { state: 'lost' };
}

/** Lets go of a batch of a halted mailing. False if it was resumed meanwhile: then the job is still wanted. */
export async function releaseBatch(
  db: Database,
  job: { mailingId: string; batch: number; outboxId: string },
): Promise<boolean> {
  const { rows } = await sql<{ released: boolean }>`
    select release_batch(${job.mailingId}::uuid, ${job.batch}, ${job.outboxId}::uuid) as released`.execute(db);
  return rows[0]?.released ?? true;
}

/** Puts the next batches into the queue. The jobs returned are to be added; the relay does it if nobody does. */
export async function queueBatches(tx: DatabaseTransaction, mailingId: string): Promise<BatchJob[]> {
  const { rows } = await sql<{ jobs: BatchJob[] }>`
    select queue_batches(${mailingId}::uuid, ${queuedBatches}) as jobs`.execute(tx);
  return rows[0]?.jobs ?? [];
}

/** Completes a mailing that has no open batch. */
export async function completeMailing(tx: DatabaseTransaction, mailingId: string, actor: string): Promise<boolean> {
  const { rows } = await sql<{ completed: boolean }>`
    select complete_mailing(${mailingId}::uuid, ${actor}) as completed`.execute(tx);
  return rows[0]?.completed ?? false;
}
