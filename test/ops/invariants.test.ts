import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { type CountingSink, startCountingSink } from '../support/counting-sink.ts';
import { eventually } from '../support/eventually.ts';
import { arrivedTwice } from '../support/judge-mailing.ts';
import { csvOf, newMailing } from '../support/mailings.ts';
import { scrape, sumOf } from '../support/metrics.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';
import { root } from '../support/sources.ts';
import { runPromtool } from './promtool.ts';

const alertOf = {
  invariant_ledger_imbalance: 'SemelLedgerImbalance',
  invariant_unfinished_without_job: 'SemelUnfinishedWithoutJob',
  invariant_entries_sent_twice: 'SemelEntriesSentTwice',
};
type Gauge = keyof typeof alertOf;
const gauges = Object.keys(alertOf) as Gauge[];

let stores: TestStores;
let sink: CountingSink;
let api: ServiceProcess;

beforeAll(async () => {
  sink = await startCountingSink();
  stores = await openTestStores({
    MAIL_URL: sink.url,
    MAIL_POLICY: 'at-least-once',
    LOCK_DURATION_MS: '1000',
    WAIT_SECONDS: '30',
  });
  api = await startProcess('api', stores.environment);
});

afterAll(async () => {
  await api.stop();
  await sink.close();
  await stores.close();
});

/** The gauges of a round that is due at once. */
const readGauges = async (): Promise<Record<Gauge, number | undefined>> => {
  await sql`update invariants set started_at = '-infinity'`.execute(stores.db);
  const text = await scrape(api.api);
  return Object.fromEntries(gauges.map((name) => [name, sumOf(text, name)])) as Record<Gauge, number | undefined>;
};

/** Which of the alerts fire if the gauges stay as they were scraped. */
const firingWith = async (values: Record<Gauge, number | undefined>): Promise<string[]> => {
  const folder = await mkdtemp(join(inject('runDir'), 'firing-'));
  const isFiring = await Promise.all(
    Object.values(alertOf).map(async (alert) => {
      const test = {
        interval: '1m',
        input_series: gauges.map((name) => ({ series: name, values: `${values[name]}x10` })),
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
            eval_time: '5m',
            exp_samples: [{ labels: '{}', value: 1 }],
          },
        ],
      };
      const file = join(folder, `${alert}.yml`);
      const rules = join(root, 'ops', 'prometheus', 'alerts.yml');
      await writeFile(file, stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] }));
      return (await runPromtool(['test', 'rules', file])).code === 0 ? [alert] : [];
    }),
  );
  return isFiring.flat();
};

it('a planted imbalance, a planted record without a job and a real double send: each gauge leaves 0 and each alert fires', async () => {
  const sender = await startProcess('worker', { ...stores.environment, SEMEL_FAILPOINTS: 'mail.answered=stop@1' });
  const account = await api.api.openAccount(100);
  await eventually(async () =>
    expect(await readGauges()).toEqual({
      invariant_ledger_imbalance: 0,
      invariant_unfinished_without_job: 0,
      invariant_entries_sent_twice: 0,
    }),
  );
  expect(await firingWith(await readGauges())).toEqual([]);

  // The mail server takes the mail, and the worker goes silent before it can say so. Another one sends it again, and
  // then the first one wakes up and tells.
  await newMailing(api.api, csvOf(1));
  await eventually(() => expect(sink.taken.size).toBe(1), { timeoutMs: 30_000 });
  const other = await startProcess('worker', stores.environment);
  await eventually(() => expect(arrivedTwice(sink)).toHaveLength(1), { timeoutMs: 30_000 });
  sender.signal('SIGCONT');
  await eventually(async () => expect((await readGauges()).invariant_entries_sent_twice).toBe(1), {
    timeoutMs: 30_000,
  });

  await Promise.all([sender.stop(), other.stop()]);
  await sql`update accounts set balance = balance + 1 where id = ${account}::uuid`.execute(stores.db);
  await sql`
    insert into records (id, client, sub_client, operation, key, fingerprint, request, status, created_at, updated_at)
    values (gen_random_uuid(), 'default', '', 'account.open', ${randomUUID()}, 'planted', '{}', 'QUEUED',
      now() - interval '1 hour', now() - interval '1 hour')`.execute(stores.db);
  await eventually(async () =>
    expect(await readGauges()).toEqual({
      invariant_ledger_imbalance: 1,
      invariant_unfinished_without_job: 1,
      invariant_entries_sent_twice: 1,
    }),
  );
  expect((await firingWith(await readGauges())).sort()).toEqual(Object.values(alertOf).sort());
});
