import type { ScenarioResult } from '../../test/support/lab/scenario.ts';

/** What stands between the markers of docs/guarantees.md. */
export function renderTables(results: readonly ScenarioResult[]): string {
  const scenarios = results.filter(({ red }) => red.length === 0);
  const sabotage = results.filter(({ red }) => red.length > 0);
  return [
    ...renderRows(
      ['scenario', 'injected', 'calls', 'result'],
      scenarios.map((result) => [
        result.name,
        renderInjected(result),
        String(result.calls),
        result.broken.length === 0 ? 'E T S R A hold' : `**${result.broken.join(' ')} broken**`,
      ]),
    ),
    '',
    'With one mechanism taken away at a time, the lab must go red:',
    '',
    ...renderRows(
      ['mechanism taken away', 'injected', 'must break', 'broke'],
      sabotage.map((result) => [
        result.name.replace('sabotage: ', ''),
        renderInjected(result),
        result.red.join(' '),
        result.broken.join(' '),
      ]),
    ),
  ].join('\n');
}

function renderInjected({ injected }: ScenarioResult): string {
  return Object.entries(injected)
    .map(([what, times]) => `${what} × ${times}`)
    .join(', ');
}

function renderRows(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
