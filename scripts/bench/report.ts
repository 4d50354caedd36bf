import { cpus, totalmem } from 'node:os';
import type { CpuTimes } from './cpu-times.ts';
import type { Measurement } from './measure.ts';
import type { EnqueueResult, Round } from './scenarios.ts';

export function renderMachine(): string {
  const [cpu] = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const versions = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  return `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), ${memory}, ${versions}`;
}

/** A table of the rounds with their ratios; the median ratio is what is held against the target. */
export function renderRounds(title: string, rounds: readonly Round[], target: number): string {
  const names = `${rounds[0]?.baseline.system ?? ''}/Semel`;
  const ratios = rounds.map(ratioOf);
  const ratio = median(ratios);
  const lines = rounds.map((round, index) =>
    line([String(index + 1), ...cells(round.baseline), ...cells(round.semel), ratioOf(round).toFixed(2)]),
  );
  const medians = [
    'median',
    ...medianCells(rounds.map((round) => round.baseline)),
    ...medianCells(rounds.map((round) => round.semel)),
    ratio.toFixed(2),
  ];
  const [baseline = '', semel = ''] = names.split('/');
  return [
    '',
    title,
    line(['round', `${baseline}/s`, 'p50 ms', 'p99 ms', `${semel}/s`, 'p50 ms', 'p99 ms', 'ratio']),
    ...lines,
    line(medians),
    `  target: at least ${target.toFixed(1)} x ${baseline}; reached ${ratio.toFixed(2)} x: ${ratio >= target ? 'PASS' : 'below'}`,
    ...renderCpu(rounds.map((round) => round.baseline)),
    ...renderCpu(rounds.map((round) => round.semel)),
  ].join('\n');
}

export function renderEnqueue({ measurement, backlog, drainedPerSecond }: EnqueueResult): string {
  const { perSecond, p50Ms, p99Ms } = measurement;
  return [
    '',
    'enqueue only (Prefer: respond-async), 64 connections',
    `  accepted ${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
    `  then ${backlog} left in the queue, drained at ${drainedPerSecond.toFixed(0)}/s`,
    ...renderCpu([measurement]),
  ].join('\n');
}

function ratioOf({ baseline, semel }: Round): number {
  return semel.perSecond / baseline.perSecond;
}

function cells(measurement: Measurement): string[] {
  return [measurement.perSecond.toFixed(0), measurement.p50Ms.toFixed(1), measurement.p99Ms.toFixed(1)];
}

function medianCells(all: readonly Measurement[]): string[] {
  const of = (pick: (measurement: Measurement) => number, digits: number): string =>
    median(all.map(pick)).toFixed(digits);
  return [of((each) => each.perSecond, 0), of((each) => each.p50Ms, 1), of((each) => each.p99Ms, 1)];
}

/** Where the cores went: on a machine with two, a request cannot cost less than the sum of this, halved. */
function renderCpu(all: readonly Measurement[]): string[] {
  const parts: CpuTimes = all[0]?.cpuMicros ?? new Map();
  if (parts.size === 0) return [];
  const medians = [...parts.keys()].map((part): [string, number] => [
    part,
    median(all.map((each) => each.cpuMicros.get(part) ?? 0)),
  ]);
  const total = medians.reduce((sum, [, micros]) => sum + micros, 0);
  const shares = medians.map(([part, micros]) => `${part} ${micros.toFixed(0)}`).join(', ');
  return [`  CPU microseconds a request, ${all[0]?.system}: ${shares}, in all ${total.toFixed(0)}`];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function line(columns: readonly string[]): string {
  return columns.map((column) => column.padStart(10)).join('');
}
