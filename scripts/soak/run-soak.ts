import { setTimeout as pause } from 'node:timers/promises';
import type { Verdict } from '../../test/support/checker/evidence.ts';
import { brokenIn } from '../../test/support/checker/judge-run.ts';
import type { Lab } from '../../test/support/lab/lab.ts';
import type { ServiceProcess } from '../../test/support/service-process.ts';
import { type Fault, faults, type Mortals } from './faults.ts';
import { findGrowth, measureSizes, type Size } from './growth.ts';
import { startMixedLoad } from './mixed-load.ts';

export interface SoakReport {
  minutes: number;
  /** How often each fault was injected. */
  injected: Map<string, number>;
  rounds: number;
  /** What was found, in which round. */
  violations: string[];
  growth: { first: Size[]; last: Size[]; beyond: string[] };
}

/** Load with faults for so long, then everything heals, ends and is judged; again and again. */
const roundMs = 90_000;
/** Everything ends within this time of the last fault. The reconciler's nine seconds, and a backlog on a busy machine. */
const patienceMs = 180_000;

export async function runSoak(
  lab: Lab,
  { minutes, say, isStopped }: { minutes: number; say: (line: string) => void; isStopped: () => boolean },
): Promise<SoakReport> {
  await lab.prepare({ apis: 1, workers: 1 });
  const survivors = [...lab.running('api'), ...lab.running('worker')];
  const mortals = await startMortals(lab);
  const endMs = Date.now() + minutes * 60_000;
  const report: SoakReport = {
    minutes,
    injected: lab.injected,
    rounds: 0,
    violations: [],
    growth: { first: [], last: [], beyond: [] },
  };
  while (Date.now() < endMs && !isStopped()) {
    const surprises = await runRound(lab, mortals, { endMs: Math.min(endMs, Date.now() + roundMs), say, isStopped });
    report.rounds += 1;
    const verdict = await lab.judge({ patienceMs });
    const found = [
      ...surprises.map((line) => `round ${report.rounds}: ${line}`),
      ...describeVerdict(report.rounds, verdict),
    ];
    report.violations.push(...found);
    report.growth.last = await measureSizes(lab, survivors);
    // The second round is the first that begins warm.
    if (report.rounds <= 2) report.growth.first = report.growth.last;
    say(`round ${report.rounds}: ${brokenIn(verdict).join('') || 'green'}, ${describeCounts(lab)}`);
    for (const line of found) say(line);
    if (survivors.some((service) => !service.isRunning())) {
      report.violations.push(`round ${report.rounds}: a process that was to be spared has ended`);
      break;
    }
  }
  report.growth.beyond = findGrowth(report.growth.first, report.growth.last);
  return report;
}

/** Returns what went otherwise than it should while a fault was injected, such as a wrong exit code. */
async function runRound(
  lab: Lab,
  mortals: Mortals,
  { endMs, say, isStopped }: { endMs: number; say: (line: string) => void; isStopped: () => boolean },
): Promise<string[]> {
  const surprises: string[] = [];
  const load = startMixedLoad(lab);
  while (Date.now() < endMs && !isStopped()) {
    await pause(lab.random.between(500, 4_000));
    // Now and then two at once.
    const chosen = lab.random.next() < 0.25 ? pickTwo(lab) : [lab.random.pick(faults)];
    say(`  ${chosen.map((fault) => fault.name).join(' and ')}`);
    for (const outcome of await Promise.allSettled(chosen.map((fault) => fault.inject(lab, mortals)))) {
      if (outcome.status === 'rejected') surprises.push(String(outcome.reason));
    }
    for (const fault of chosen) lab.inject(fault.name);
  }
  await lab.heal();
  await load.stop();
  return surprises;
}

/** Faults that are injected over a connection of the lab's own to a store, or that end such connections. */
const onStores = /Redis|FLUSHALL|locks deleted|Postgres|COMMIT|table locked|deadlocks/;

/** Two that do not both handle the stores: that would only be the lab in its own way. */
function pickTwo(lab: Lab): Fault[] {
  const first = lab.random.pick(faults);
  const others = faults.filter(
    ({ name }) => name !== first.name && !(onStores.test(first.name) && onStores.test(name)),
  );
  return [first, lab.random.pick(others)];
}

async function startMortals(lab: Lab): Promise<Mortals> {
  const alive = new Set<ServiceProcess>(
    await Promise.all([lab.start('api'), lab.start('worker'), lab.start('worker')]),
  );
  return {
    pick: (role) => lab.random.pick([...alive].filter((service) => service.role === role)),
    replace: async (service) => {
      alive.add(await lab.start(service.role));
      alive.delete(service);
    },
    all: () => [...alive],
  };
}

function describeVerdict(round: number, verdict: Verdict): string[] {
  return Object.entries(verdict).flatMap(([name, found]) => found.map((line) => `round ${round}: ${name}: ${line}`));
}

function describeCounts({ journal: { counts } }: Lab): string {
  return `${counts.calls} calls, ${counts.answers} answers, ${counts.promises} promises, ${counts.refused} refused, ${counts.lost} lost`;
}
