import { type Job, Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import type { Database } from '../store/database.ts';
import { type EventRow, findEvent } from '../store/events.ts';
import { removeFromOutbox } from '../store/outbox.ts';
import type { RedisClient } from '../store/redis.ts';
import { putOffJob } from './put-off-job.ts';
import { notificationsQueue, takeoverOptions } from './queues.ts';

/** What a group of consumers does with an event. It is called again if it fails, and not again once it succeeded. */
export interface Consumer {
  group: string;
  consume: (event: EventRow) => Promise<unknown>;
}

export interface NotificationParts {
  db: Database;
  connection: RedisClient;
  prefix: string;
  consumers: readonly Consumer[];
  lockDurationMs: number;
  log: Logger;
  hitFailpoint: HitFailpoint;
}

interface NotificationJobData {
  eventId: string;
  outboxId: string;
}

/** A consumer only writes rows, so a few at a time keep up with all the workers of operations. */
const concurrency = 20;
/** The longest pause between two tries. Whatever was in the way, the event comes through within a minute of its end. */
const maxPauseMs = 60_000;

/** Hands each event to its group. The outbox row goes last: until then the relay brings the job back if Redis loses it. */
export function startNotificationWorker(parts: NotificationParts): Worker {
  const consumers = new Map(parts.consumers.map((consumer) => [consumer.group, consumer]));
  const worker: Worker = new Worker<NotificationJobData>(
    notificationsQueue,
    (job, token) => handleJob({ ...parts, worker, consumers }, job, token),
    {
      connection: parts.connection,
      prefix: parts.prefix,
      concurrency,
      ...takeoverOptions(parts.lockDurationMs),
    },
  );
  worker.on('error', (error) => parts.log.warn({ err: error }, 'notification worker'));
  return worker;
}

async function handleJob(
  parts: Omit<NotificationParts, 'consumers'> & { worker: Worker; consumers: ReadonlyMap<string, Consumer> },
  job: Job<NotificationJobData>,
  token: string | undefined,
): Promise<string> {
  const { eventId, outboxId } = job.data;
  try {
    const event = await findEvent(parts.db, eventId);
    const consumer = parts.consumers.get(job.name);
    if (!consumer) throw new Error(`no consumer is named ${job.name}`);
    if (event) await consumer.consume(event);
    parts.hitFailpoint('event.consumed');
    await removeFromOutbox(parts.db, [outboxId]);
    return event ? 'consumed' : 'the event is gone';
  } catch (error) {
    const pauseMs = Math.min(maxPauseMs, 500 * 2 ** Math.min(job.attemptsStarted, 10));
    parts.log.warn({ err: error, eventId, group: job.name, pauseMs }, 'event not consumed yet');
    return await putOffJob({ worker: parts.worker, redis: parts.connection }, job, { delayMs: pauseMs, token });
  }
}
