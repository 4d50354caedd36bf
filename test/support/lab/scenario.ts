import type { Invariant } from '../checker/evidence.ts';
import type { Lab, Proxied } from './lab.ts';

/** Something that goes wrong, and what must hold all the same. */
export interface Scenario {
  /** A row of the table in docs/guarantees.md. */
  name: string;
  /** For sabotage: the invariants that must be found broken. Without it, all of them hold. */
  red?: readonly Invariant[];
  environment?: Record<string, string>;
  proxied?: readonly Proxied[];
  /** A Postgres of its own, for those that kill it. */
  ownPostgres?: boolean;
  /** A Redis that keeps an append-only file. */
  persistentRedis?: boolean;
  /** How long the end of everything is waited for. */
  patienceMs?: number;
  /** Load with faults. Afterwards everything is healed, and judged. */
  run: (lab: Lab) => Promise<void>;
  /** What else must be so in the end. Throws if it is not. */
  expect?: (lab: Lab) => Promise<void>;
}

/** What became of a scenario: a row of the table. */
export interface ScenarioResult {
  name: string;
  red: readonly Invariant[];
  broken: Invariant[];
  injected: Record<string, number>;
  calls: number;
  answers: number;
  seconds: number;
}
