import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Hono } from 'hono';
import type { Logger } from 'pino';
import { AppError } from '../../errors.ts';
import { deadLetterQueue } from '../../processors/fail-attempt.ts';
import { housekeepingQueue } from '../../queues/housekeeping/schedules.ts';
import { notificationsQueue, operationsQueue, type Queues } from '../../queues/queues.ts';
import { mailingsQueue } from '../../store/mailings/mailing-actions.ts';
import { isRedisUnavailable } from '../../store/redis.ts';
import { allowAction } from './board-actions.ts';

/** What each queue is for, as the page says it. */
const shownQueues: readonly [name: string, description: string][] = [
  [
    operationsQueue,
    'A job for each operation that is to run. The record in Postgres decides: a job that is retried after it is settled does nothing, and one that is removed too early comes back.',
  ],
  [notificationsQueue, 'An event for a group of consumers. What is removed before it is consumed comes back.'],
  [mailingsQueue, 'Files to read and batches of mails to send. What is removed before it is done comes back.'],
  [deadLetterQueue, 'Operations that gave up. Nobody takes these jobs: they are here to be seen.'],
  [housekeepingQueue, 'What is over is taken away. Each task has a schedule; its job says what it did.'],
];

/** Bull Board, to be mounted at `basePath`. It asks for counts and for one page of jobs, however many there are. */
export function createBoard(parts: { queues: Queues; log: Logger }, basePath: string): Hono {
  const { queues, log } = parts;
  const adapter = new HonoAdapter(serveStatic).setBasePath(basePath);
  createBullBoard({
    queues: shownQueues.map(([name, description]) => new BullMQAdapter(queues.get(name), { description })),
    serverAdapter: adapter,
    options: {
      uiConfig: { boardTitle: 'Semel', hideDocsLink: true, sortQueues: false },
      handlerHooks: {
        before: allowAction,
        after: (context, result) => {
          if (context.method !== 'get') {
            const { queueName, jobId, schedulerId } = context.request.params ?? {};
            const { method, route } = context;
            log.info({ method, route, queueName, jobId, schedulerId, status: result.status }, 'queue page');
          }
          return result;
        },
      },
    },
  });
  // What it cannot answer is a problem like any other; it would answer 500 with whatever the error says.
  adapter.setErrorHandler((error) => {
    throw isRedisUnavailable(error)
      ? new AppError('UNAVAILABLE', 'Redis cannot be reached. Try again.', { cause: error })
      : error;
  });
  return adapter.registerPlugin();
}
