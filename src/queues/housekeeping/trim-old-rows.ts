import { deadLetterQueue } from '../../processors/fail-attempt.ts';
import type { Database } from '../../store/database.ts';
import { deleteExpiredDedup } from '../../store/dedup.ts';
import {
  deleteOldAlerts,
  deleteOldDeadLetters,
  deleteOldDeliveries,
  deleteOldEvents,
  deleteOldQuarantine,
  type TrimmedPage,
  type TrimStep,
} from '../../store/housekeeping/old-rows.ts';
import { jobIdOf } from '../../store/scoped-key.ts';
import type { Queues } from '../queues.ts';
import { batchSize, inBatches } from './in-batches.ts';

const dayMs = 86_400_000;

/** How long rows stay that only tell what happened. docs/architecture.md has the reasons. */
export const retentionDays = { notifications: 30, quarantine: 90, deadLetters: 90 } as const;

/** Deletes rows that nobody will ask for any more. Events go first: deliveries and alerts stay until theirs is gone. */
export async function trimOldRows(
  { db, queues }: { db: Database; queues: Queues },
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const ago = (days: number) => new Date(Date.now() - days * dayMs);
  const notifications = { before: ago(retentionDays.notifications), limit: batchSize };
  const quarantine = { before: ago(retentionDays.quarantine), limit: batchSize };
  const deadLetters = { before: ago(retentionDays.deadLetters), limit: batchSize };
  return {
    dedup: await untilFewer(signal, () => deleteExpiredDedup(db, batchSize)),
    events: await walk(signal, (after) => deleteOldEvents(db, { ...notifications, after })),
    deliveries: await walk(signal, (after) => deleteOldDeliveries(db, { ...notifications, after })),
    alerts: await untilFewer(signal, () => deleteOldAlerts(db, notifications)),
    quarantined: await untilFewer(signal, () => deleteOldQuarantine(db, quarantine)),
    deadLetters: await untilFewer(signal, () => deleteDeadLetters(db, queues, deadLetters)),
  };
}

/** Each batch finds its own rows; one that is not full was the last. */
async function untilFewer(signal: AbortSignal, runBatch: () => Promise<number>): Promise<number> {
  return await inBatches(signal, async () => {
    const done = await runBatch();
    return { done, isLast: done < batchSize };
  });
}

/** Goes past the rows that have to stay, so that they are in nobody's way. */
async function walk(signal: AbortSignal, step: (after: string | null) => Promise<TrimmedPage>): Promise<number> {
  let after: TrimStep['after'] = null;
  return await inBatches(signal, async () => {
    const { deleted, last } = await step(after);
    after = last;
    return { done: deleted, isLast: last === null };
  });
}

/** The job is only there to be seen. One that stays because Redis failed goes with its record, or is looked at in vain. */
async function deleteDeadLetters(db: Database, queues: Queues, step: { before: Date; limit: number }): Promise<number> {
  const deleted = await deleteOldDeadLetters(db, step);
  const queue = queues.get(deadLetterQueue);
  await Promise.all(deleted.map((letter) => queue.remove(jobIdOf(letter))));
  return deleted.length;
}
