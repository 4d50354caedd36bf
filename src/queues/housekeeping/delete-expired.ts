import type { HitFailpoint } from '../../failpoints.ts';
import { deadLetterQueue } from '../../processors/fail-attempt.ts';
import type { Database } from '../../store/database.ts';
import {
  deleteExpiredRecords,
  type ExpiredRecord,
  listExpiredRecords,
} from '../../store/housekeeping/expired-records.ts';
import type { RedisClient } from '../../store/redis.ts';
import { jobIdOf } from '../../store/scoped-key.ts';
import { operationsQueue, type Queues } from '../queues.ts';
import { batchSize, inBatches } from './in-batches.ts';

export interface ExpiryParts {
  db: Database;
  queues: Queues;
  redis: RedisClient;
  hitFailpoint: HitFailpoint;
}

/** BullMQ knows of no more jobs that ended than it keeps, so older generations of a key are long forgotten. */
const maxGenerations = 1_000;

/**
 * Deletes expired records, and before each its jobs: a key that is used again begins with the first generation again,
 * and BullMQ would swallow its job if it still knew one of that id. A job that is under way keeps its record until the
 * next time.
 */
export async function deleteExpired(parts: ExpiryParts, signal: AbortSignal): Promise<number> {
  let after: ExpiredRecord | undefined;
  return await inBatches(signal, async () => {
    const expired = await listExpiredRecords(parts.db, { after, limit: batchSize });
    after = expired.at(-1);
    const kept = await removeJobs(parts, expired);
    parts.hitFailpoint('expiry.jobs-removed');
    const ids = expired.map((record) => record.id).filter((id) => !kept.has(id));
    const done = ids.length > 0 ? await deleteExpiredRecords(parts.db, ids) : 0;
    parts.hitFailpoint('expiry.deleted');
    return { done, isLast: expired.length < batchSize };
  });
}

/** Returns the records of which a job could not be removed, because a worker has it in hand. */
async function removeJobs(parts: ExpiryParts, records: readonly ExpiredRecord[]): Promise<Set<string>> {
  const jobs = records.flatMap((record) => jobsOf(record).map((job) => ({ ...job, recordId: record.id })));
  const pipeline = parts.redis.pipeline();
  for (const { queue, jobId } of jobs) pipeline.exists(parts.queues.get(queue).toKey(jobId));
  const replies = (await pipeline.exec()) ?? [];
  const known = jobs.filter((_, index) => replies[index]?.[1] !== 0);
  const removals = await Promise.all(
    known.map(async ({ queue, jobId, recordId }) => ({
      recordId,
      removed: await parts.queues.get(queue).remove(jobId),
    })),
  );
  return new Set(removals.filter(({ removed }) => removed !== 1).map(({ recordId }) => recordId));
}

/** Each generation had a job, and each but the last one has failed. */
function jobsOf(record: ExpiredRecord): { queue: string; jobId: string }[] {
  const first = Math.max(1, record.generation - maxGenerations);
  const generations = Array.from({ length: record.generation - first + 1 }, (_, index) => first + index);
  const mayHaveFailed = record.status === 'FAILED' || record.generation > 1;
  return generations.flatMap((generation) => {
    const jobId = jobIdOf({ ...record, generation });
    const ran = { queue: operationsQueue, jobId };
    return mayHaveFailed ? [ran, { queue: deadLetterQueue, jobId }] : [ran];
  });
}
