import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { Client } from 'pg';
import { withClient } from '../accounts.ts';
import { checkLedger, readLedger, waitForDrain } from '../ledger.ts';
import { askProcess } from '../mailings/ask-process.ts';
import { measureRate } from '../mailings/measure-rate.ts';
import { forgetPeak, readMemory } from '../mailings/memory.ts';
import type { Timed } from '../mailings/protocol.ts';
import { partsOf } from '../mailings/run-ingest.ts';
import type { Rate } from '../measure.ts';
import type { BenchOptions } from '../options.ts';
import { type BenchSystems, newPrefix, type Round, runRounds } from '../scenarios.ts';
import type { AddPlan } from './protocol.ts';
import { startScript } from './run-script.ts';

export interface BulkResult {
  readonly title: string;
  readonly target: number;
  readonly rounds: readonly Round<Rate>[];
  /** While the workers run what was sent. */
  readonly busyPerSecond: number;
  readonly scriptMb: number | undefined;
  readonly apiMb: { readonly before: number; readonly peak: number } | undefined;
  readonly killed: { readonly rows: number; readonly after: readonly number[]; readonly replayed: number };
}

// About five seconds of work for either side.
const measuredRows = 50_000;
const killedRows = 100_000;
const kills = 3;
// Short against a run, long enough not to disturb it.
const pollMs = 10;

/** Files by `npm run bulk`, against BullMQ's addBulk alone. Nobody runs the jobs meanwhile, on either side. */
export async function runBulk(systems: BenchSystems, options: BenchOptions, runDir: string): Promise<BulkResult> {
  const { redisUrl, semel } = systems;
  const adder = await systems.processes.startScript('adder', 'baselines/add-bulk.ts');
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue('operations', { connection, prefix: '{semel}' });
  const apiPid = partsOf(systems).get('api') ?? 0;
  let scriptMb: number | undefined;
  const sendFile = async (rows: number): Promise<Timed> => {
    const { file } = await writeRows(systems, runDir, rows);
    const { created, perSecond, peakMb } = await startScript(semel, file).ended;
    if (created !== rows) throw new Error(`WRONG: of ${rows} rows ${created} were created.`);
    scriptMb = Math.max(scriptMb ?? 0, peakMb ?? 0) || undefined;
    return { count: rows, tookMs: (rows * 1_000) / perSecond };
  };
  const checked = async <T>(rows: number, work: () => Promise<T>): Promise<T> => {
    const before = await readLedger(systems.databaseUrl);
    const result = await work();
    await queue.resume();
    await waitForDrain(systems.databaseUrl, drainTimeoutMs);
    checkLedger(before, await readLedger(systems.databaseUrl), rows);
    return result;
  };
  try {
    forgetPeak(apiPid);
    const beforeMb = readMemory(apiPid)?.nowMb;
    const rounds = await runRounds(options, async () => {
      const plan: AddPlan = { redisUrl, accounts: semel.accounts, rows: measuredRows };
      const parts = new Map([
        ['adder', adder.pid],
        ['redis', systems.redisPid],
      ]);
      const baseline = await measureRate('addBulk', parts, () => askProcess<AddPlan, Timed>(adder, plan));
      const measured = await checked(measuredRows, async () => {
        await queue.pause();
        return await measureRate('Semel', partsOf(systems), () => sendFile(measuredRows));
      });
      return { baseline, semel: measured };
    });
    const busy = await checked(measuredRows, () => sendFile(measuredRows));
    const killed = await checked(killedRows, () => killAndFinish(systems, runDir));
    const peakMb = readMemory(apiPid)?.peakMb;
    return {
      title: `bulk, ${measuredRows} rows of CSV by npm run bulk`,
      target: 0.5,
      rounds,
      busyPerSecond: (busy.count * 1_000) / busy.tookMs,
      scriptMb,
      apiMb: beforeMb && peakMb ? { before: beforeMb, peak: peakMb } : undefined,
      killed,
    };
  } finally {
    await queue.close();
    connection.disconnect();
  }
}

// A hundred thousand transfers at the rate of a busy machine.
const drainTimeoutMs = 300_000;

/** Kills the script at random places, starts it again, and counts the operations. */
async function killAndFinish(systems: BenchSystems, runDir: string): Promise<BulkResult['killed']> {
  const { file, prefix } = await writeRows(systems, runDir, killedRows);
  return await withClient(systems.databaseUrl, async (client) => {
    const { rows: firsts } = await client.query<{ count: number }>('select count(*)::int4 as count from records');
    const base = firsts[0]?.count ?? 0;
    const after: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      const { child, ended } = startScript(systems.semel, file);
      const known = (await countRecords(client)) - base;
      const target = known + randomInt(1, Math.max(2, Math.floor((killedRows - known) / 2)));
      while ((await countRecords(client)) - base < target && child.exitCode === null) await sleep(pollMs);
      child.kill('SIGKILL');
      await ended;
      after.push((await countRecords(client)) - base);
    }
    const { created, replayed } = await startScript(systems.semel, file).ended;
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int4 as count from records where request ->> 'description' like $1`,
      [`${prefix}%`],
    );
    const isRight = rows[0]?.count === killedRows && created + replayed === killedRows;
    if (!isRight) throw new Error(`WRONG: ${killedRows} rows became ${rows[0]?.count} operations.`);
    return { rows: killedRows, after, replayed };
  });
}

async function countRecords(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>('select count(*)::int4 as count from records');
  return rows[0]?.count ?? 0;
}

async function writeRows(
  { semel: { accounts } }: BenchSystems,
  runDir: string,
  rows: number,
): Promise<{ file: string; prefix: string }> {
  const prefix = newPrefix();
  const file = join(runDir, `${prefix}.csv`);
  const lines = Array.from({ length: rows }, (_, index) => {
    const [from, to] = [accounts[index % accounts.length], accounts[(index + 1) % accounts.length]];
    return `${from},${to},1,${prefix}${index}`;
  });
  await writeFile(file, ['fromAccountId,toAccountId,amount,description', ...lines].join('\n'));
  return { file, prefix };
}
