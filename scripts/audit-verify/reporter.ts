import type { AuditFault, AuditReport } from '../../src/store/audit-verify.ts';

export interface Reporter {
  showProgress(progress: { chains: number; rows: number }): void;
  showFault(fault: AuditFault): void;
  showResult(report: AuditReport): void;
}

/** Often enough to see that it goes on, seldom enough for a log. */
const progressPauseMs = 2_000;
/** More of them tell nothing more; they are still counted. */
const maxFaultsShown = 20;

const format = (count: number): string => count.toLocaleString('en');

export function createReporter(): Reporter {
  let shownAtMs = performance.now();
  let faults = 0;
  return {
    showProgress: ({ chains, rows }) => {
      if (performance.now() - shownAtMs < progressPauseMs) return;
      shownAtMs = performance.now();
      console.log(`${format(rows)} rows in ${format(chains)} trails so far, ${format(faults)} broken …`);
    },
    showFault: (fault) => {
      faults += 1;
      if (faults <= maxFaultsShown) console.error(describe(fault));
      if (faults === maxFaultsShown + 1) console.error('More broken rows are counted but not shown.');
    },
    showResult: ({ chains, rows, first, deleted, ...report }) => {
      const walked = `${format(rows)} rows in ${format(chains)} trails`;
      if (deleted > 0)
        console.log(`${format(deleted)} records were deleted before their time was over; their trails say so.`);
      if (!first) console.log(`OK: ${walked}, all whole.`);
      else console.error(`BROKEN: ${format(report.faults)} of ${walked}. The first: ${describe(first)}`);
    },
  };
}

function describe({ recordId, seq, problem }: AuditFault): string {
  return seq === undefined ? `record ${recordId}: ${problem}` : `record ${recordId}, row ${seq}: ${problem}`;
}
