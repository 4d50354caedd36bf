import { type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import type { Metrics, RunOutcome } from '../metrics.ts';
import type { Engine } from '../processors/engine.ts';
import { runOperation } from '../processors/run-operation.ts';
import type { RedisClient } from '../store/redis.ts';
import { putOffJob } from './put-off-job.ts';
import { jobOptions, type OperationJobData, operationsQueue, takeoverOptions } from './queues.ts';

export interface WorkerParts {
  engine: Engine;
  connection: RedisClient;
  prefix: string;
  concurrency: number;
  lockDurationMs: number;
  log: Logger;
  hitFailpoint: HitFailpoint;
  metrics: Pick<Metrics, 'runs'>;
}

/** An unexpected error says nothing about the next try, and the log is not to be flooded. */
const unexpectedDelayMs = 5_000;

/** Takes jobs from the queue and runs their records. Takes no decision of its own about attempts or outcomes. */
export function startOperationWorker(parts: WorkerParts): Worker {
  const worker: Worker = new Worker<OperationJobData>(
    operationsQueue,
    (job, token) => handleJob(parts, worker, job, token),
    {
      connection: parts.connection,
      prefix: parts.prefix,
      concurrency: parts.concurrency,
      ...takeoverOptions(parts.lockDurationMs),
      ...(typeof jobOptions.removeOnComplete === 'object' && { removeOnComplete: jobOptions.removeOnComplete }),
    },
  );
  worker.on('error', (error) => parts.log.warn({ err: error }, 'queue worker'));
  worker.on('stalled', (jobId) => parts.log.warn({ jobId }, 'job taken over from a worker that went silent'));
  return worker;
}

async function handleJob(
  parts: WorkerParts,
  worker: Worker,
  job: Job<OperationJobData>,
  token: string | undefined,
): Promise<string> {
  const startedMs = Date.now();
  const { recordId, replyTo } = job.data;
  const result = await runOperation(parts.engine, { recordId, replyTo, stalls: job.stalledCounter }).catch((error) => {
    parts.log.error({ err: error, operationId: recordId }, 'unexpected error');
    return { kind: 'again', delayMs: unexpectedDelayMs } as const;
  });
  const durationMs = Date.now() - startedMs;
  if (result.kind === 'again') {
    parts.metrics.runs.observe(job.name, 'retried', durationMs);
    return await putOffJob({ worker, redis: parts.connection }, job, { delayMs: result.delayMs, token });
  }
  parts.hitFailpoint('run.before-job-end');
  if (result.kind === 'gone') return 'the record is gone';
  const { status, operation } = result.result;
  parts.metrics.runs.observe(operation, status.toLowerCase() as RunOutcome, durationMs);
  parts.log.info({ operationId: recordId, operation, status, durationMs }, 'operation settled');
  if (status === 'FAILED') throw new UnrecoverableError(result.result.error?.code ?? 'FAILED');
  return status;
}
