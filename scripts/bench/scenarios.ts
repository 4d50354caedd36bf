import { randomBytes } from 'node:crypto';
import { checkLedger, readLedger, waitForDrain } from './ledger.ts';
import { countAnswers, type Measurement, type MeasureParts, measure, type Rate, type Traffic } from './measure.ts';
import type { BenchOptions } from './options.ts';
import type { BenchProcess, Processes } from './processes.ts';
import type { System } from './systems.ts';

export interface BenchSystems extends MeasureParts {
  readonly echo: System;
  readonly naive: System;
  readonly semel: System;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Where Semel's mails go. */
  readonly sink: BenchProcess;
  readonly processes: Processes;
}

export interface Round<T extends Rate = Measurement> {
  readonly baseline: T;
  readonly semel: T;
}

// What is compiled by then is most of it; with one second the first round was half as fast as the second.
const warmupMs = 2_000;
const replayedKeys = 1_000;

/** New transfers, first by the baseline, then by Semel, so that what else the machine does falls on both. */
export async function runNewTransfers(
  systems: BenchSystems,
  options: BenchOptions,
  connections: number,
): Promise<Round[]> {
  const traffic = { ...timesOf(options), connections, keys: 'fresh', keyCount: 0, expectedStatus: 201 } as const;
  return await runRounds(options, async () => {
    const baseline = await measure(systems, systems.naive, { ...traffic, keyPrefix: newPrefix() });
    const semel = await measureChecked(systems, { ...traffic, keyPrefix: newPrefix() }, 'new');
    return { baseline, semel };
  });
}

/** Keys that have their answer already, sent again, against an echo of the same body. */
export async function runReplays(systems: BenchSystems, options: BenchOptions): Promise<Round[]> {
  const once = { keyPrefix: newPrefix(), keyCount: replayedKeys, connections: 64, expectedStatus: 201 };
  await measureChecked(systems, { ...once, keys: 'once', warmupMs: 0, measureMs: 10_000 }, 'new');
  const again = { ...once, ...timesOf(options), keys: 'repeat' } as const;
  return await runRounds(options, async () => {
    const baseline = await measure(systems, systems.echo, { ...again, expectedStatus: 200 });
    const semel = await measureChecked(systems, again, 'replayed');
    return { baseline, semel };
  });
}

export interface EnqueueResult {
  readonly measurement: Measurement;
  readonly backlog: number;
  readonly drainedPerSecond: number;
}

/** 202 at once; then what is left in the queue is waited for and counted. */
export async function runEnqueueOnly(systems: BenchSystems, options: BenchOptions): Promise<EnqueueResult> {
  const before = await readLedger(systems.databaseUrl);
  const measurement = await measure(systems, systems.semel, {
    ...timesOf(options),
    keyPrefix: newPrefix(),
    keys: 'fresh',
    keyCount: 0,
    connections: 64,
    headers: { prefer: 'respond-async' },
    expectedStatus: 202,
  });
  const { backlog, tookMs } = await waitForDrain(systems.databaseUrl);
  checkLedger(before, await readLedger(systems.databaseUrl), countAnswers(measurement));
  return { measurement, backlog, drainedPerSecond: (backlog * 1_000) / tookMs };
}

export async function measureChecked(
  systems: BenchSystems,
  traffic: Traffic,
  kind: 'new' | 'replayed',
): Promise<Measurement> {
  const before = await readLedger(systems.databaseUrl);
  const measurement = await measure(systems, systems.semel, traffic);
  checkLedger(before, await readLedger(systems.databaseUrl), kind === 'new' ? countAnswers(measurement) : 0);
  return measurement;
}

export async function runRounds<T extends Rate>(
  options: BenchOptions,
  runRound: () => Promise<Round<T>>,
): Promise<Round<T>[]> {
  const rounds: Round<T>[] = [];
  for (let round = 0; round < options.rounds; round += 1) rounds.push(await runRound());
  return rounds;
}

export function timesOf(options: BenchOptions): { warmupMs: number; measureMs: number } {
  return { warmupMs, measureMs: options.seconds * 1_000 };
}

/** Never all digits, which BullMQ would refuse as the id of a job. */
export function newPrefix(): string {
  return `bench-${randomBytes(6).toString('hex')}-`;
}
