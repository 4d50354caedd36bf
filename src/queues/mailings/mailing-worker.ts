import { type Job, Worker } from 'bullmq';
import type { Logger } from 'pino';
import { type IngestParts, ingestFile } from '../../processors/mailings/ingest-file.ts';
import { type SendingParts, sendBatch } from '../../processors/mailings/send-batch.ts';
import type { Database } from '../../store/database.ts';
import { noteIngestTrouble } from '../../store/mailings/ingest.ts';
import { mailingsQueue } from '../../store/mailings/mailing-actions.ts';
import type { BatchJob } from '../../store/mailings/mailing-batches.ts';
import { removeFromOutbox } from '../../store/outbox.ts';
import type { RedisClient } from '../../store/redis.ts';
import { putOffJob } from '../put-off-job.ts';
import { type JobDraft, jobOptions, takeoverOptions } from '../queues.ts';

export interface MailingWorkerParts {
  db: Database;
  connection: RedisClient;
  prefix: string;
  addJobs: (jobs: readonly JobDraft[]) => Promise<void>;
  ingest: IngestParts;
  sending: SendingParts;
  lockDurationMs: number;
  log: Logger;
}

interface MailingJobData {
  mailingId: string;
  outboxId: string;
  /** Of a job that sends. */
  batch?: number;
}

/** Batches at once in a process. They share its connections, and one more is claiming while the others wait for replies. */
const concurrency = 3;
/** The longest pause between two tries: whatever was in the way, it goes on within a minute of its end. */
const maxPauseMs = 60_000;

/** Reads files and sends batches. Decides nothing: the outbox row stays until the database says that a job is done. */
export function startMailingWorker(parts: MailingWorkerParts): Worker {
  const worker: Worker = new Worker<MailingJobData>(
    mailingsQueue,
    (job, token) => handleJob(parts, worker, job, token),
    {
      connection: parts.connection,
      prefix: parts.prefix,
      concurrency,
      ...takeoverOptions(parts.lockDurationMs),
      ...(typeof jobOptions.removeOnComplete === 'object' && { removeOnComplete: jobOptions.removeOnComplete }),
    },
  );
  worker.on('error', (error) => parts.log.warn({ err: error }, 'mailing worker'));
  worker.on('stalled', (jobId) => parts.log.warn({ jobId }, 'job taken over from a worker that went silent'));
  return worker;
}

async function handleJob(
  parts: MailingWorkerParts,
  worker: Worker,
  job: Job<MailingJobData>,
  token: string | undefined,
): Promise<string> {
  const result = await runJob(parts, job.data).catch(async (error: unknown) => {
    const delayMs = Math.min(maxPauseMs, 500 * 2 ** Math.min(job.attemptsStarted, 10));
    parts.log.warn({ err: error, ...job.data, delayMs }, 'a mailing cannot go on yet');
    if (job.data.batch === undefined) await noteTrouble(parts, job.data.mailingId, error);
    return { kind: 'later', delayMs } as const;
  });
  if (result.kind === 'later') {
    return await putOffJob({ worker, redis: parts.connection }, job, { delayMs: result.delayMs, token });
  }
  return result.kind;
}

type JobResult = { kind: 'done' | 'left' | 'failed' } | { kind: 'later'; delayMs: number };

async function runJob(parts: MailingWorkerParts, data: MailingJobData): Promise<JobResult> {
  const { mailingId, outboxId, batch } = data;
  return batch === undefined
    ? await runIngest(parts, { mailingId, outboxId })
    : await runBatch(parts, { mailingId, outboxId, batch });
}

async function runIngest(parts: MailingWorkerParts, data: { mailingId: string; outboxId: string }): Promise<JobResult> {
  const { log } = parts;
  const { mailingId } = data;
  const startedMs = Date.now();
  const result = await ingestFile(parts.ingest, data);
  if (result.kind === 'interrupted') return { kind: 'later', delayMs: 0 };
  // Whoever resumes the mailing adds another job, so nothing is to bring this one back.
  if (result.kind === 'left') await removeFromOutbox(parts.db, [data.outboxId]);
  if (result.kind === 'done') {
    log.info({ mailingId, durationMs: Date.now() - startedMs }, 'file read');
    await parts.addJobs(result.jobs);
  }
  if (result.kind === 'failed') log.warn({ mailingId, ...result.failure }, 'file refused');
  return { kind: result.kind };
}

async function runBatch(parts: MailingWorkerParts, data: BatchJob['data']): Promise<JobResult> {
  const result = await sendBatch(parts.sending, data);
  if (result.kind === 'later') return result;
  if (result.kind === 'done') {
    await parts.addJobs(result.jobs);
    if (result.isCompleted) parts.log.info({ mailingId: data.mailingId }, 'mailing completed');
  }
  return { kind: result.kind };
}

async function noteTrouble({ db, log }: MailingWorkerParts, mailingId: string, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  await noteIngestTrouble(db, mailingId, message.slice(0, 500)).catch((second: unknown) => {
    log.warn({ err: second, mailingId }, 'not noted');
  });
}
