import { serve } from '@hono/node-server';
import { Queue, QueueEvents } from 'bullmq';
import { Hono } from 'hono';
import { Redis } from 'ioredis';
import { answerTimeoutMs, jobOptions, prefix, queueName, type TransferRequest, type TransferResult } from './naive.ts';

// The way it is usually written: the job's id is the key, and the request waits for the job. Nothing is on disk
// before the answer but what Redis may have written, and an answer is forgotten with its job.

const redisUrl = process.env.REDIS_URL ?? '';
const queue = new Queue<TransferRequest, TransferResult>(queueName, { connection: new Redis(redisUrl), prefix });
const queueEvents = new QueueEvents(queueName, {
  connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
  prefix,
});
// BullMQ adds listeners for each job that is waited for; Node would warn of a leak.
queue.setMaxListeners(0);
queueEvents.setMaxListeners(0);
await queueEvents.waitUntilReady();

const app = new Hono();
app.post('/transfers', async (c) => {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return c.json({ error: 'Idempotency-Key is missing' }, 400);
  const request = await c.req.json<TransferRequest>();
  const job = await queue.add('transfer', request, { ...jobOptions, jobId: key });
  return c.json(await job.waitUntilFinished(queueEvents, answerTimeoutMs), 201);
});

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' }, () => process.send?.('ready'));
process.on('disconnect', () => process.exit());
