import type { Counts } from './counts.ts';
import { formatSeconds } from './progress.ts';

export interface Summary {
  readonly counts: Counts;
  readonly seconds: number;
  readonly isDryRun: boolean;
  readonly refusedPath: string;
}

/** The counts at the end, one on a line, for people and for programs. */
export function summarize({ counts, seconds, isDryRun, refusedPath }: Summary): string {
  const lines = [
    `${isDryRun ? 'would send' : 'created   '} ${counts.created}`,
    ...(isDryRun ? [] : [`replayed   ${counts.replayed}`]),
    `refused    ${counts.refused}`,
    ...(isDryRun ? [] : [`failed     ${counts.failed}`]),
  ];
  if (counts.notTaken > 0) lines.push(`Rows that were not taken, with the reasons: ${refusedPath}`);
  if (counts.repeated > 0) {
    const shown = counts.repeatedLines.join(', ');
    const more = counts.repeated > counts.repeatedLines.length ? ', …' : '';
    const which = counts.repeated === 1 ? `line ${shown}` : `lines ${shown}${more}`;
    lines.push(
      `${counts.repeated} of the rows have the key of a row further up (${which}), and so are no operations of their own.`,
      'If they are meant to be, give each row a key of its own in a column, and name it with --key.',
    );
  }
  const rate = seconds > 0 ? Math.round(counts.answered / seconds) : 0;
  lines.push(`${counts.answered} rows in ${formatSeconds(seconds)}, ${rate} in a second`);
  return lines.join('\n');
}
