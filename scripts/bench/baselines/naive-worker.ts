import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { prefix, queueName, type TransferRequest, type TransferResult } from './naive.ts';

// One transaction for each job, a statement for each step.

const concurrency = 50;
// Of 10, 20 and 50, taking turns, 20 took the least CPU for a transfer in most rounds.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL ?? '', max: 20 });

async function transfer(request: TransferRequest): Promise<TransferResult> {
  const { fromAccountId, toAccountId, amount } = request;
  const client = await pool.connect();
  try {
    await client.query('begin');
    const accounts = await client.query<{ id: string; balance: string }>(
      'select id, balance from accounts where id in ($1, $2) order by id for update',
      [fromAccountId, toAccountId],
    );
    const from = accounts.rows.find((row) => row.id === fromAccountId);
    if (accounts.rowCount !== 2 || from === undefined) throw new Error('account not found');
    if (Number(from.balance) < amount) throw new Error('insufficient funds');
    await client.query('update accounts set balance = balance - $2 where id = $1', [fromAccountId, amount]);
    await client.query('update accounts set balance = balance + $2 where id = $1', [toAccountId, amount]);
    const inserted = await client.query<{ id: string; created_at: Date }>(
      'insert into transfers (from_account_id, to_account_id, amount) values ($1, $2, $3) returning id, created_at',
      [fromAccountId, toAccountId, amount],
    );
    const [row] = inserted.rows;
    if (row === undefined) throw new Error('nothing was inserted');
    const addMovement = 'insert into movements (account_id, transfer_id, amount) values ($1, $2, $3)';
    await client.query(addMovement, [fromAccountId, row.id, -amount]);
    await client.query(addMovement, [toAccountId, row.id, amount]);
    await client.query('commit');
    return { ...request, id: row.id, status: 'COMPLETED', createdAt: row.created_at.toISOString() };
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const connection = new Redis(process.env.REDIS_URL ?? '', { maxRetriesPerRequest: null });
const worker = new Worker<TransferRequest, TransferResult>(queueName, (job) => transfer(job.data), {
  connection,
  prefix,
  concurrency,
});
worker.on('error', (error) => console.error(error));
await worker.waitUntilReady();
process.send?.('ready');
process.on('disconnect', () => process.exit());
