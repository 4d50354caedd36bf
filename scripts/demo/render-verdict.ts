import type { Verdict } from './count-from-outside.ts';
import { formatCount, type Screen } from './screen.ts';

const headings = ['asked for', 'wanted', 'happened', 'duplicates', 'lost'] as const;

export const isFlawless = ({ counts, faults }: Verdict): boolean =>
  faults.length === 0 && counts.every(({ duplicates, lost }) => duplicates === 0 && lost === 0);

/** The table, the faults if there are any, and the one line that it is all about. */
export function renderVerdict(verdict: Verdict, { paint }: Screen): string {
  const { counts, faults } = verdict;
  const rows = counts.map(({ asked, wanted, happened, duplicates, lost }) => [
    asked,
    ...[wanted, happened, duplicates, lost].map(formatCount),
  ]);
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const renderRow = (cells: readonly string[]): string =>
    `   ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('   ')}`;
  const duplicates = counts.reduce((sum, count) => sum + count.duplicates, 0);
  const lost = counts.reduce((sum, count) => sum + count.lost, 0);
  return [
    '',
    paint('bold', renderRow(headings)),
    paint('dim', `   ${widths.map((width) => '-'.repeat(width)).join('   ')}`),
    ...rows.map(renderRow),
    '',
    ...faults.map((fault) => `   ${paint('red', fault)}`),
    `   ${paint(isFlawless(verdict) ? 'green' : 'red', `duplicates: ${duplicates}, lost: ${lost}`)}`,
  ].join('\n');
}
