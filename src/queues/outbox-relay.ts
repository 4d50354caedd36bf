import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import type { Database } from '../store/database.ts';
import { groupBy } from '../store/group-by.ts';
import { claimOutbox, noteOutboxFailure, type OutboxRow, removeFromOutbox, returnToOutbox } from '../store/outbox.ts';
import type { Queues } from './queues.ts';

export interface RelayParts {
  db: Database;
  queues: Queues;
  /** Whether Redis can be reached right now. */
  isRedisReady: () => boolean;
  log: Logger;
  hitFailpoint: HitFailpoint;
}

const batchSize = 500;
/** A row that Redis refuses this often is poison and is set aside for an operator. */
const maxAttempts = 8;
/** Soon enough that the backlog moves at once when Redis is back, rare enough not to hammer. */
const redisAwayDelayMs = 1_000;

/** Brings what the fast path missed to its queue. Any number may run at once. Returns how many rows it moved. */
export async function relayOutbox(parts: RelayParts): Promise<number> {
  let moved = 0;
  while (parts.isRedisReady()) {
    const rows = await claimOutbox(parts.db, batchSize);
    if (rows.length === 0) break;
    const delivered = await deliver(parts, rows);
    moved += delivered.length;
    parts.hitFailpoint('relay.enqueued');
    if (delivered.length > 0) await removeFromOutbox(parts.db, delivered);
    // What was refused has a later time of its own, so a full batch means that there is more.
    if (rows.length < batchSize) break;
  }
  return moved;
}

/** The ids of the rows that are in their queue now. */
async function deliver(parts: RelayParts, rows: readonly OutboxRow[]): Promise<string[]> {
  const groups = groupBy(rows, (row) => row.queue);
  const delivered = await Promise.all([...groups.values()].map((group) => deliverGroup(parts, group)));
  return delivered.flat();
}

async function deliverGroup(parts: RelayParts, rows: readonly OutboxRow[]): Promise<string[]> {
  try {
    await parts.queues.add(rows[0]?.queue ?? '', rows.map(toDraft));
    return rows.map((row) => row.id);
  } catch (error) {
    if (!parts.isRedisReady()) {
      const ids = rows.map((row) => row.id);
      await returnToOutbox(parts.db, ids, redisAwayDelayMs);
      return [];
    }
    // One bad row spoils a bulk call, so each goes alone and only the culprit stays behind.
    if (rows.length > 1) return (await Promise.all(rows.map((row) => deliverGroup(parts, [row])))).flat();
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
