import { cpus, totalmem } from 'node:os';
import type { BulkResult } from './bulk/run-bulk.ts';
import type { CleanupResult } from './cleanup.ts';
import type { CpuTimes } from './cpu-times.ts';
import type { IngestResult } from './mailings/run-ingest.ts';
import type { SendingResult } from './mailings/run-sending.ts';
import type { Measurement, Rate } from './measure.ts';
import type { EnqueueResult, Round } from './scenarios.ts';

export function renderMachine(): string {
  const [cpu] = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const versions = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  return `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), ${memory}, ${versions}`;
}

/** What is counted, and what is told of it besides how many there are in a second. */
interface Columns<T extends Rate> {
  readonly unit: string;
  readonly more: readonly (readonly [name: string, read: (rate: T) => number])[];
}

const requests: Columns<Measurement> = {
  unit: 'request',
  more: [
    ['p50 ms', (measurement) => measurement.p50Ms],
    ['p99 ms', (measurement) => measurement.p99Ms],
  ],
};

export function renderRounds(title: string, rounds: readonly Round[], target: number): string {
  return renderTable(title, rounds, target, requests);
}

export function renderIngest({ title, target, rounds, memory }: IngestResult): string {
  const lines = [renderTable(title, rounds, target, { unit: 'row', more: [] })];
  if (memory) {
    const { rows, beforeMb, peakMb } = memory;
    const grown = (peakMb - beforeMb).toFixed(0);
    lines.push(
      `  memory of the worker, ${rows} rows: ${beforeMb.toFixed(0)} MiB before, at most ${peakMb.toFixed(0)} MiB meanwhile, so ${grown} MiB more`,
    );
  }
  return lines.join('\n');
}

export function renderSending({ title, target, rounds }: SendingResult): string {
  return renderTable(title, rounds, target, { unit: 'mail', more: [] });
}

export function renderBulk({ title, target, rounds, busyPerSecond, scriptMb, apiMb, killed }: BulkResult): string {
  const script = scriptMb === undefined ? 'unknown' : `${scriptMb.toFixed(0)} MiB`;
  const api = apiMb && `${apiMb.before.toFixed(0)} MiB before and at most ${apiMb.peak.toFixed(0)} MiB meanwhile`;
  return [
    renderTable(title, rounds, target, { unit: 'row', more: [] }),
    `  while the worker runs what was sent: ${busyPerSecond.toFixed(0)} rows/s`,
    `  memory of the script: at most ${script}; of the API: ${api ?? 'unknown'}`,
    `  ${killed.rows} rows, killed after ${killed.after.join(', ')} operations, then run again: ${killed.rows} operations, ${killed.replayed} rows replayed`,
  ].join('\n');
}

/** A table of the rounds with their ratios; the median ratio is what is held against the target. */
function renderTable<T extends Rate>(
  title: string,
  rounds: readonly Round<T>[],
  target: number,
  columns: Columns<T>,
): string {
  const ratio = median(rounds.map(ratioOf));
  const [baselines, semels] = [rounds.map((round) => round.baseline), rounds.map((round) => round.semel)];
  const name = baselines[0]?.system ?? '';
  const headings = columns.more.map(([heading]) => heading);
  return [
    '',
    title,
    line(['round', `${name}/s`, ...headings, 'Semel/s', ...headings, 'ratio']),
    ...rounds.map((round, index) =>
      line([
        String(index + 1),
        ...cells([round.baseline], columns),
        ...cells([round.semel], columns),
        ratioOf(round).toFixed(2),
      ]),
    ),
    line(['median', ...cells(baselines, columns), ...cells(semels, columns), ratio.toFixed(2)]),
    `  target: at least ${target.toFixed(1)} x ${name}; reached ${ratio.toFixed(2)} x: ${ratio >= target ? 'PASS' : 'below'}`,
    ...renderCpu(baselines, columns.unit),
    ...renderCpu(semels, columns.unit),
  ].join('\n');
}

export function renderCleanup({ records, rounds, deletedInMs }: CleanupResult): string {
  const seconds = deletedInMs.map((ms) => (ms / 1_000).toFixed(0)).join(', ');
  return [
    renderTable(`new transfers, 64 connections, while ${records} expired records are deleted`, rounds, 0.9, requests),
    `  deleted in ${seconds} s, by round; nothing else was`,
  ].join('\n');
}

export function renderEnqueue({ measurement, backlog, drainedPerSecond }: EnqueueResult): string {
  const { perSecond, p50Ms, p99Ms } = measurement;
  return [
    '',
    'enqueue only (Prefer: respond-async), 64 connections',
    `  accepted ${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
    `  then ${backlog} left in the queue, drained at ${drainedPerSecond.toFixed(0)}/s`,
    ...renderCpu([measurement], 'request'),
  ].join('\n');
}

function ratioOf({ baseline, semel }: Round<Rate>): number {
  return semel.perSecond / baseline.perSecond;
}

/** Of several, the medians. */
function cells<T extends Rate>(all: readonly T[], { more }: Columns<T>): string[] {
  const rates = median(all.map((each) => each.perSecond)).toFixed(0);
  return [rates, ...more.map(([, read]) => median(all.map(read)).toFixed(1))];
}

/** Where the cores went: on a machine with two, a request cannot cost less than the sum of this, halved. */
function renderCpu(all: readonly Rate[], unit: string): string[] {
  const parts: CpuTimes = all[0]?.cpuMicros ?? new Map();
  if (parts.size === 0) return [];
  const medians = [...parts.keys()].map((part): [string, number] => [
    part,
    median(all.map((each) => each.cpuMicros.get(part) ?? 0)),
  ]);
  const total = medians.reduce((sum, [, micros]) => sum + micros, 0);
  const shares = medians.map(([part, micros]) => `${part} ${micros.toFixed(0)}`).join(', ');
  return [`  CPU microseconds a ${unit}, ${all[0]?.system}: ${shares}, in all ${total.toFixed(0)}`];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function line(columns: readonly string[]): string {
  return columns.map((column) => column.padStart(13)).join('');
}
