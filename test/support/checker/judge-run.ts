import { checkEffects } from './check-effects.ts';
import { checkEndings } from './check-endings.ts';
import { checkSums } from './check-sums.ts';
import { checkTrail } from './check-trail.ts';
import { type Evidence, type Invariant, invariants, tell, type Verdict } from './evidence.ts';

/** Judges a run that has been healed: waits for the end of everything, then looks at what is there. */
export async function judgeRun(evidence: Evidence, { patienceMs }: { patienceMs: number }): Promise<Verdict> {
  const T = await checkEndings(evidence, patienceMs);
  const [E, S, A] = await Promise.all([checkEffects(evidence), checkSums(evidence), checkTrail(evidence)]);
  const R = tell('keys with different answers', evidence.journal.differences);
  return { E, T, S, R, A };
}

/** The invariants that were broken. */
export function brokenIn(verdict: Verdict): Invariant[] {
  return invariants.filter((name) => verdict[name].length > 0);
}
