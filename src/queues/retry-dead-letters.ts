import type { Logger } from 'pino';
import { deadLetterQueue } from '../processors/fail-attempt.ts';
import { addAdminAction } from '../store/admin-actions.ts';
import {
  type DeadLetterFilter,
  type DeadLetterSummary,
  listRetryable,
  summarizeDeadLetters,
} from '../store/dead-letter-queries.ts';
import { type DeadLetterRow, deleteDeadLetter } from '../store/dead-letters.ts';
import { groupBy } from '../store/group-by.ts';
import { type ActionJob, changeEntries } from '../store/mailings/mailing-actions.ts';
import { jobIdOf } from '../store/scoped-key.ts';
import type { Queues } from './queues.ts';
import { type RepairParts, resetRecord } from './repair-record.ts';

export interface RetryParts extends RepairParts {
  log: Logger;
  queues: Queues;
  addMailingJobs: (jobs: readonly ActionJob[]) => Promise<void>;
}

export type RetryResult = { kind: 'retried' } | { kind: 'refused'; why: string };

/** So many are taken together: the mails of a mailing in one transaction, records a few at a time. */
const stepSize = 100;
const recordsAtOnce = 4;

/** Runs again what gave up: a record as its next generation, the mail of an entry by its mailing. */
export async function retryDeadLetter(parts: RetryParts, letter: DeadLetterRow, actor: string): Promise<RetryResult> {
  if (letter.line !== null) {
    const changed = await resendEntries(parts, [letter], actor);
    return changed > 0
      ? { kind: 'retried' }
      : { kind: 'refused', why: 'The mailing or its entry does not allow this.' };
  }
  const { record_id: id, generation } = letter;
  const result = await resetRecord(parts, { id, actor, from: ['FAILED'], generation, note: 'dead letter retried' });
  if (result.kind === 'missing') return { kind: 'refused', why: 'The record has expired. Discard the dead letter.' };
  if (result.kind === 'busy') return { kind: 'refused', why: 'Somebody is at work on the record right now.' };
  if (result.kind === 'refused') return { kind: 'refused', why: result.why };
  forgetJob(parts, letter);
  return { kind: 'retried' };
}

/** Retries up to `limit` of those that match, oldest first, step by step. What is left is for the next call. */
export async function retryMatching(
  parts: RetryParts,
  filter: DeadLetterFilter,
  { actor, limit }: { actor: string; limit: number },
): Promise<{ retried: number; remaining: number }> {
  let [retried, seen] = [0, 0];
  while (seen < limit) {
    const letters = await listRetryable(parts.db, filter, Math.min(stepSize, limit - seen));
    const step = await retryStep(parts, letters, actor);
    retried += step;
    seen += letters.length;
    // Nothing moved: somebody else is at the same work, or each of them was refused.
    if (step === 0) break;
  }
  const summary = await summarizeDeadLetters(parts.db, filter);
  const remaining = countOf(summary, (kind) => kind.retryable);
  const detail = { filter, retried, remaining };
  await parts.db
    .transaction()
    .execute((tx) => addAdminAction(tx, { actor, action: 'dead-letters.retry', subject: null, detail }));
  return { retried, remaining };
}

export function countOf(summary: readonly DeadLetterSummary[], isMeant: (kind: DeadLetterSummary) => boolean): number {
  return summary.filter(isMeant).reduce((sum, { count }) => sum + count, 0);
}

/** Gives a dead letter up for good, and keeps a trace of it. Undefined if there is none. */
export async function discardDeadLetter(
  parts: RetryParts,
  id: string,
  { actor, reason }: { actor: string; reason: string },
): Promise<DeadLetterRow | undefined> {
  const letter = await parts.db.transaction().execute(async (tx) => {
    const deleted = await deleteDeadLetter(tx, id);
    if (!deleted) return undefined;
    const { record_id: operationId, client, operation, key, line, error } = deleted;
    const detail = { reason, operationId, client, operation, key, line, error };
    await addAdminAction(tx, { actor, action: 'dead-letter.discard', subject: id, detail });
    return deleted;
  });
  if (letter) forgetJob(parts, letter);
  return letter;
}

async function retryStep(parts: RetryParts, letters: readonly DeadLetterRow[], actor: string): Promise<number> {
  const records = letters.filter((letter) => letter.line === null);
  const mailings = groupBy(
    letters.filter((letter) => letter.line !== null),
    (letter) => letter.record_id,
  );
  let retried = 0;
  for (const entries of mailings.values()) retried += await resendEntries(parts, entries, actor);
  for (let first = 0; first < records.length; first += recordsAtOnce) {
    const some = records.slice(first, first + recordsAtOnce);
    const results = await Promise.all(some.map((letter) => retryDeadLetter(parts, letter, actor)));
    retried += results.filter(({ kind }) => kind === 'retried').length;
  }
  return retried;
}

/** Entries of one mailing go its own way, which keeps its counts and its history and takes them off the dead letters. */
async function resendEntries(parts: RetryParts, entries: readonly DeadLetterRow[], actor: string): Promise<number> {
  const [first] = entries;
  if (!first) return 0;
  const action = { client: first.client, id: first.record_id, actor };
  const lines = entries.flatMap(({ line }) => (line === null ? [] : [line]));
  const change = { from: 'FAILED', to: 'PENDING', lines, note: 'sent again' } as const;
  const result = await changeEntries(parts.db, action, change);
  if (result.kind === 'done') await parts.addMailingJobs(result.jobs);
  return result.changed;
}

/** The job in the queue of dead letters is only there to be seen. */
function forgetJob({ queues, log }: RetryParts, letter: DeadLetterRow): void {
  if (letter.line !== null) return;
  const jobId = jobIdOf({ ...letter, id: letter.record_id });
  queues
    .get(deadLetterQueue)
    .remove(jobId)
    .catch((error: unknown) => log.warn({ err: error, jobId }, 'the job of a dead letter was not removed'));
}
