import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { AddPlan } from '../bulk/protocol.ts';
import { answerQuestions } from '../mailings/ask-process.ts';
import type { Timed } from '../mailings/protocol.ts';

// What BullMQ costs by itself: jobs from memory into Redis, and nothing that outlives Redis. Nobody takes them.

// The same as in Semel's groups.
const jobsAtOnce = 500;

answerQuestions<AddPlan, Timed>(async ({ redisUrl, accounts, rows }) => {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue(`added-${randomUUID()}`, { connection, prefix: '{bench}' });
  try {
    const startedMs = performance.now();
    for (let start = 0; start < rows; start += jobsAtOnce) {
      await queue.addBulk(
        Array.from({ length: jobsAtOnce }, (_, index) => {
          const [fromAccountId, toAccountId] = [
            accounts[index % accounts.length],
            accounts[(index + 1) % accounts.length],
          ];
          const data = { fromAccountId, toAccountId, amount: 1, description: `row ${start + index}` };
          return { name: 'transfer.create', data, opts: { jobId: `row-${randomUUID()}`, attempts: 1 } };
        }),
      );
    }
    const tookMs = performance.now() - startedMs;
    await queue.obliterate({ force: true });
    return { count: rows, tookMs };
  } finally {
    await queue.close();
    connection.disconnect();
  }
});
