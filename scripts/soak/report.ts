import type { Lab } from '../../test/support/lab/lab.ts';
import type { Size } from './growth.ts';
import type { SoakReport } from './run-soak.ts';

/** The table that a soak ends with. */
export function renderReport(report: SoakReport, lab: Lab, seed: number): string {
  const { counts } = lab.journal;
  const rows = [...report.injected]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, times]) => `| ${name} | ${times} |`);
  const sizes = report.growth.first.map((size, index) => renderSize(size, report.growth.last[index]));
  return [
    `Seed ${seed}, ${report.minutes} minutes, ${report.rounds} rounds of load, faults, healing and judging.`,
    `${counts.calls} calls: ${counts.answers} answers, ${counts.promises} promises (202), ${counts.refused} refused, ${counts.lost} connections lost.`,
    '',
    '| fault | times |',
    '| --- | --- |',
    ...rows,
    '',
    '| what | after warming up | at the end |',
    '| --- | --- | --- |',
    ...sizes,
    '',
    report.violations.length === 0 ? 'E, T, S, R and A held in every round.' : 'Violations:',
    ...report.violations,
    ...(report.growth.beyond.length > 0 ? ['Grown beyond bounds:', ...report.growth.beyond] : []),
  ].join('\n');
}

function renderSize(first: Size, last: Size | undefined): string {
  return `| ${first.what} | ${first.value} ${first.unit} | ${last?.value} ${first.unit} |`;
}
