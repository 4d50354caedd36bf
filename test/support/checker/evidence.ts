import type pg from 'pg';
import type { CountingSink } from '../counting-sink.ts';
import type { Journal } from '../lab/journal.ts';
import type { WebhookSink } from '../lab/webhook-sink.ts';

/** All that the checker looks at: the database, the sinks, and what clients were told. Nothing of the service itself. */
export interface Evidence {
  db: pg.Pool;
  mail: CountingSink;
  webhooks: WebhookSink;
  journal: Journal;
  /** Mails may come twice, with the same Message-ID: only where the policy is at-least-once. */
  mailsMayRepeat: boolean;
  /** Outbox rows that the test itself put there to be refused. */
  poison: ReadonlySet<string>;
}

/**
 * E: at most one effect for each operation. T: everything acknowledged ends. S: the sums are right, no limit is broken.
 * R: same key, same answer. A: the audit trail is complete and leads without a gap to each state.
 */
export const invariants = ['E', 'T', 'S', 'R', 'A'] as const;
export type Invariant = (typeof invariants)[number];

/** What was found against each invariant. Empty lists are what everybody hopes for. */
export type Verdict = Record<Invariant, string[]>;

/** A question to the database whose every row is a violation. */
export interface Question {
  violation: string;
  sql: string;
}

/** One line for each question that found something: what, how often, and which first. */
export async function ask(db: pg.Pool, questions: readonly Question[]): Promise<string[]> {
  const found = await Promise.all(
    questions.map(async ({ violation, sql }) => {
      const { rows } = await db.query(sql);
      return rows.length === 0 ? [] : [`${violation}: ${rows.length}, such as ${JSON.stringify(rows[0])}`];
    }),
  );
  return found.flat();
}

/** One line if there is something on the list. */
export function tell(violation: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [`${violation}: ${items.length}, such as ${items[0]}`];
}
