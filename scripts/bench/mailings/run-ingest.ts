import type { Client } from 'pg';
import { withClient } from '../accounts.ts';
import type { Rate } from '../measure.ts';
import type { BenchOptions } from '../options.ts';
import { type BenchSystems, newPrefix, type Round, runRounds } from '../scenarios.ts';
import { askProcess } from './ask-process.ts';
import { measureRate } from './measure-rate.ts';
import { forgetPeak, readMemory } from './memory.ts';
import { countDuplicates, makePeople, toCsv } from './people.ts';
import type { CopyPlan, Timed } from './protocol.ts';
import { cancelMailing, removeMailings, uploadFile, waitForMailing } from './run-mailing.ts';

export interface IngestResult {
  readonly title: string;
  readonly target: number;
  readonly rounds: readonly Round<Rate>[];
  readonly memory: { readonly rows: number; readonly beforeMb: number; readonly peakMb: number } | undefined;
}

// About five seconds of work for either side.
const measuredRows = 500_000;
// The memory is looked at while twice as much is read: it must not grow with the file.
const watchedRows = 1_000_000;
const table = 'copied_entries';

/** Reads a file of addresses into entries, against a COPY of the finished entries into the same kind of table. */
export async function runIngest(systems: BenchSystems, options: BenchOptions): Promise<IngestResult> {
  const copier = await systems.processes.startScript('copier', 'baselines/copy-entries.ts');
  return await withClient(systems.databaseUrl, async (client) => {
    await client.query(`create table ${table} (like mailing_entries including all)`);
    // First, since a worker that has read a file keeps some of the memory. It is the warm-up too.
    const memory = await watchMemory(systems, client);
    const rounds = await runRounds(options, async () => {
      const prefix = newPrefix();
      const plan: CopyPlan = { databaseUrl: systems.databaseUrl, table, prefix, rows: measuredRows };
      const copy = new Map([
        ['copier', copier.pid],
        ['postgres', systems.postgresPid],
      ]);
      const baseline = await measureRate('COPY', copy, () => askProcess<CopyPlan, Timed>(copier, plan));
      await client.query(`truncate ${table}`);
      await client.query('checkpoint');
      const content = toCsv(makePeople(prefix, measuredRows, { hasDuplicates: true }));
      const semel = await measureRate('Semel', partsOf(systems), () => ingest(systems, client, content, measuredRows));
      return { baseline, semel };
    });
    await client.query(`drop table ${table}`);
    return { title: `ingest, ${measuredRows} rows with 1 % duplicates`, target: 0.7, rounds, memory };
  });
}

async function ingest(systems: BenchSystems, client: Client, content: Blob, rows: number): Promise<Timed> {
  // One mail a second: what is measured is over when the first is sent.
  const id = await uploadFile(systems.semel, { name: `${newPrefix()}.csv`, content, ratePerSecond: 1 });
  const { ingestMs, lines, duplicates, entries } = await waitForMailing(client, id, (row) => row.ingestMs !== null);
  await cancelMailing(systems.semel, id);
  const { rows: counted } = await client.query('select count(*)::int4 as count from mailing_entries');
  const isRight = lines === rows && duplicates === countDuplicates(rows) && counted[0]?.count === entries;
  if (!isRight) throw new Error(`WRONG: ${rows} rows became ${lines} lines with ${duplicates} duplicates.`);
  await removeMailings(client);
  return { count: entries, tookMs: ingestMs ?? Number.NaN };
}

async function watchMemory(systems: BenchSystems, client: Client): Promise<IngestResult['memory']> {
  const pid = partsOf(systems).get('worker') ?? 0;
  const content = toCsv(makePeople(newPrefix(), watchedRows, { hasDuplicates: true }));
  forgetPeak(pid);
  const before = readMemory(pid);
  await ingest(systems, client, content, watchedRows);
  const after = readMemory(pid);
  return before && after && { rows: watchedRows, beforeMb: before.nowMb, peakMb: after.peakMb };
}

export function partsOf({ semel, postgresPid, redisPid }: BenchSystems): Map<string, number> {
  return new Map([
    ...semel.processes.map(({ part, pid }): [string, number] => [part, pid]),
    ['postgres', postgresPid],
    ['redis', redisPid],
  ]);
}
