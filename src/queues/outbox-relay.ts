import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import type { Metrics } from '../metrics.ts';
import type { Database } from '../store/database.ts';
import { groupBy } from '../store/group-by.ts';
import {
  claimOutbox,
  noteOutboxFailure,
  type OutboxRow,
  postponeInOutbox,
  removeFromOutbox,
  returnToOutbox,
} from '../store/outbox.ts';
import { isRedisAtFault } from '../store/redis.ts';
import type { Queues } from './queues.ts';

export interface RelayParts {
  db: Database;
  queues: Queues;
  /** Whether Redis can be reached right now. */
  isRedisReady: () => boolean;
  log: Logger;
  hitFailpoint: HitFailpoint;
  metrics: Pick<Metrics, 'outboxPublishing'>;
}

const batchSize = 500;
/** A row that Redis refuses this often is poison and is set aside for an operator. */
const maxAttempts = 8;
/** After this long without a word of its consumer, a job is added again. BullMQ ignores it if it is still there. */
const unconsumedDelayMs = 15_000;
/** Soon enough that the backlog moves at once when Redis is back, rare enough not to hammer. */
const redisAwayDelayMs = 1_000;

/** Brings what the fast path missed to its queue. Any number may run at once. Returns how many rows it moved. */
export async function relayOutbox(parts: RelayParts): Promise<number> {
  let moved = 0;
  while (parts.isRedisReady()) {
    const rows = await claimOutbox(parts.db, batchSize);
    if (rows.length === 0) break;
    parts.hitFailpoint('relay.claimed');
    const delivered = await deliver(parts, rows);
    moved += delivered.length;
    parts.hitFailpoint('relay.enqueued');
    await settleDelivered(parts, delivered);
    // What was refused has a later time of its own, so a full batch means that there is more. If all of it was refused,
    // Redis is not well, and the next round comes soon enough.
    if (rows.length < batchSize || delivered.length === 0) break;
  }
  return moved;
}

async function settleDelivered({ db }: RelayParts, rows: readonly OutboxRow[]): Promise<void> {
  const idsOf = (stays: boolean) => rows.filter((row) => row.stays === stays).map((row) => row.id);
  const [stay, done] = [idsOf(true), idsOf(false)];
  if (done.length > 0) await removeFromOutbox(db, done);
  if (stay.length > 0) await postponeInOutbox(db, stay, unconsumedDelayMs);
}

/** The rows that are in their queue now. */
async function deliver(parts: RelayParts, rows: readonly OutboxRow[]): Promise<OutboxRow[]> {
  const groups = groupBy(rows, (row) => row.queue);
  const delivered = await Promise.all([...groups.values()].map((group) => deliverGroup(parts, group)));
  return delivered.flat();
}

async function deliverGroup(parts: RelayParts, rows: readonly OutboxRow[]): Promise<readonly OutboxRow[]> {
  try {
    const end = parts.metrics.outboxPublishing.startTimer();
    await parts.queues.add(rows[0]?.queue ?? '', rows.map(toDraft));
    end();
    return rows;
  } catch (error) {
    if (!parts.isRedisReady() || isRedisAtFault(error)) {
      const ids = rows.map((row) => row.id);
      await returnToOutbox(parts.db, ids, redisAwayDelayMs);
      return [];
    }
    // One bad row spoils a bulk call, so the group is halved until only the culprit stays behind.
    if (rows.length > 1) {
      const half = Math.ceil(rows.length / 2);
      const halves = [rows.slice(0, half), rows.slice(half)];
      return (await Promise.all(halves.map((group) => deliverGroup(parts, group)))).flat();
    }
    for (const row of rows) {
      parts.log.error(
        { err: error, outboxId: row.id, jobId: row.job_id, attempts: row.attempts },
        'outbox row refused',
      );
      await noteOutboxFailure(parts.db, row.id, error instanceof Error ? error.message : String(error), maxAttempts);
    }
    return [];
  }
}

function toDraft(row: OutboxRow) {
  return { name: row.name, jobId: row.job_id, data: row.data };
}
