import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from './accounts.ts';

export interface Ledger {
  readonly transfers: number;
  /** What all movements sum to: money is moved, never made. */
  readonly imbalance: number;
  readonly unsettled: number;
}

/** What Semel's database holds, as opposed to what its answers said. */
export async function readLedger(databaseUrl: string): Promise<Ledger> {
  return await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<Ledger>(`
      select (select count(*) from transfers)::float8 as transfers,
        (select sum(amount) from movements)::float8 as imbalance,
        (select count(*) from records where settled_at is null)::float8 as unsettled`);
    const [ledger] = rows;
    if (ledger === undefined) throw new Error('The ledger could not be read.');
    return ledger;
  });
}

// Ten times what the default run leaves behind takes; more than that means that it is stuck.
const drainTimeoutMs = 90_000;
// Short against the seconds that a drain takes, long enough not to disturb it.
const pollMs = 100;

/** Waits until every accepted operation is settled. Returns how many were left and how long it took. */
export async function waitForDrain(
  databaseUrl: string,
  timeoutMs = drainTimeoutMs,
): Promise<{ backlog: number; tookMs: number }> {
  return await withClient(databaseUrl, async (client) => {
    const startedMs = performance.now();
    const countLeft = async (): Promise<number> => {
      const query = 'select count(*)::int4 as left from records where settled_at is null';
      return (await client.query<{ left: number }>(query)).rows[0]?.left ?? 0;
    };
    const backlog = await countLeft();
    for (let left = backlog; left > 0; left = await countLeft()) {
      if (performance.now() - startedMs > timeoutMs) throw new Error(`${left} operations were never settled.`);
      await sleep(pollMs);
    }
    return { backlog, tookMs: performance.now() - startedMs };
  });
}

/** Throws unless each of `expected` answers made one transfer and the ledger still sums to zero. */
export function checkLedger(before: Ledger, after: Ledger, expected: number): void {
  const created = after.transfers - before.transfers;
  if (created !== expected) throw new Error(`WRONG: ${expected} transfers were answered for and ${created} were made.`);
  if (after.imbalance !== 0) throw new Error(`WRONG: the movements sum to ${after.imbalance}.`);
}
