import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import type pg from 'pg';
import { withClient } from './accounts.ts';
import type { Measurement } from './measure.ts';
import type { BenchOptions } from './options.ts';
import { type BenchSystems, measureChecked, newPrefix, type Round, runRounds, timesOf } from './scenarios.ts';

export interface CleanupResult {
  readonly records: number;
  readonly rounds: readonly Round[];
  /** How long housekeeping took for all of them, in each round. */
  readonly deletedInMs: readonly number[];
}

const expiringRecords = 100_000;
/** Of each kind that must stay. */
const keptRecords = 100;
// Beyond the warm-up and what is between two measurements: they must not expire before the first one has ended.
const marginMs = 15_000;
// Ten times what it takes on an idle machine.
const deletionTimeoutMs = 600_000;
const pollMs = 200;

/** New transfers with a hundred thousand finished records in the table, and then while housekeeping deletes them. */
export async function runCleanup(systems: BenchSystems, options: BenchOptions): Promise<CleanupResult> {
  const traffic = { ...timesOf(options), connections: 64, keys: 'fresh', keyCount: 0, expectedStatus: 201 } as const;
  const measureNew = async (system: Measurement['system']): Promise<Measurement> => {
    return { ...(await measureChecked(systems, { ...traffic, keyPrefix: newPrefix() }, 'new')), system };
  };
  const deletedInMs: number[] = [];
  const rounds = await withClient(systems.databaseUrl, (client) =>
    runRounds(options, async () => {
      const expiresAtMs = await plantRecords(client, traffic.warmupMs + traffic.measureMs + marginMs);
      const baseline = await measureNew('before');
      await sleep(Math.max(0, expiresAtMs - Date.now()));
      await beginDeletion(systems.redisUrl);
      await waitUntil(client, (left) => left < expiringRecords);
      const startedMs = performance.now();
      const semel = await measureNew('Semel');
      if ((await countLeft(client)) === 0) throw new Error('Housekeeping was done before the measurement was.');
      await waitUntil(client, (left) => left === 0);
      deletedInMs.push(performance.now() - startedMs);
      await checkKept(client);
      return { baseline, semel };
    }),
  );
  return { records: expiringRecords, rounds, deletedInMs };
}

/** Records that will expire, and beside them some that must stay: in doubt, unfinished, and with time left. */
async function plantRecords(client: pg.Client, lifetimeMs: number): Promise<number> {
  await client.query(
    `insert into records (id, client, sub_client, operation, key, fingerprint, request, status, settled_at, next_attempt_at, expires_at)
     select gen_random_uuid(), 'cleanup', '', 'account.open', kind.name || n, 'f', '{"owner": "Ada", "currency": "EUR"}', kind.status,
       case when kind.status <> 'QUEUED' then now() end, case when kind.status = 'QUEUED' then now() + interval '1 day' end,
       now() + make_interval(secs => kind.lifetime)
     from (values ('expiring-', 'SUCCEEDED', $1::float8, $2::integer), ('kept-unknown-', 'UNKNOWN', 0, $3),
       ('kept-unfinished-', 'QUEUED', 0, $3), ('kept-young-', 'REJECTED', 86400, $3)) as kind (name, status, lifetime, count),
       generate_series(1, kind.count) n`,
    [lifetimeMs / 1_000, expiringRecords, keptRecords],
  );
  const expiresAtMs = Date.now() + lifetimeMs;
  await client.query('vacuum analyze records');
  return expiresAtMs;
}

/** The schedule would begin it within a minute; nobody needs to wait for that. */
async function beginDeletion(redisUrl: string): Promise<void> {
  const queue = new Queue('housekeeping', { connection: { url: redisUrl }, prefix: '{semel}' });
  await queue.add('expired-records', {});
  await queue.close();
}

async function countLeft(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ left: number }>(
    `select count(*)::int4 as left from records where client = 'cleanup' and key like 'expiring-%'`,
  );
  return rows[0]?.left ?? 0;
}

async function waitUntil(client: pg.Client, isSo: (left: number) => boolean): Promise<void> {
  const untilMs = performance.now() + deletionTimeoutMs;
  while (!isSo(await countLeft(client))) {
    if (performance.now() > untilMs) throw new Error('WRONG: expired records were not deleted.');
    await sleep(pollMs);
  }
}

async function checkKept(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(`delete from records where client = 'cleanup' and key like 'kept-%'`);
  if (rowCount !== 3 * keptRecords) throw new Error(`WRONG: ${rowCount} of ${3 * keptRecords} records were kept.`);
}
