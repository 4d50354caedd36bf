import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CountingSink, startCountingSink } from '../support/counting-sink.ts';
import { arrivedTwice, judgeMailing } from '../support/judge-mailing.ts';
import { csvOf, mailingWith, newMailing } from '../support/mailings.ts';
import { runUntilKilled, type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

const connections = 5;

let stores: TestStores;
let sink: CountingSink;
let api: ServiceProcess;

beforeEach(async () => {
  sink = await startCountingSink();
  stores = await openTestStores({
    LOCK_DURATION_MS: '1500',
    MAIL_URL: `${sink.url}?ignoreTLS=true`,
    MAIL_CONNECTIONS: String(connections),
    RETRY_DELAYS_MS: '100,200',
  });
  api = await startProcess('api', stores.environment);
});

afterEach(async () => {
  await api.stop();
  await stores.close();
  await sink.close();
});

const startWorker = (more: Record<string, string> = {}) => startProcess('worker', { ...stores.environment, ...more });

describe('workers are killed while a mailing is sent', () => {
  it('20 000 rows, three workers, one killed each second for ten seconds: no address gets its mail twice', async () => {
    const workers = await Promise.all([startWorker(), startWorker(), startWorker()]);
    const rate = { fields: { ratePerSecond: '2000' } };
    const id = await newMailing(api.api, csvOf(20_000), rate);
    await mailingWith(api.api, id, 'SENDING', 60_000);
    let kills = 0;
    for (; kills < 10; kills += 1) {
      const victim = workers[kills % workers.length];
      // A second of work between two kills is what is tested here; nothing is awaited by it.
      await pause(1_000);
      await victim?.kill();
      workers[kills % workers.length] = await startWorker();
    }
    const mailing = await mailingWith(api.api, id, 'COMPLETED', 90_000);
    const verdict = await judgeMailing(stores.db, id, sink);
    expect(verdict).toMatchObject({ entries: 20_000, failed: 0, invalid: 0, suppressed: 0 });
    expect(mailing.totals).toMatchObject({ entries: 20_000, sent: verdict.sent, unknown: verdict.unknown, pending: 0 });
    expect(arrivedTwice(sink)).toEqual([]);
    // In hand at a kill are at most those on the connections and as many that wait for one.
    expect(verdict.unknown).toBeLessThanOrEqual(kills * 2 * connections);
    expect(verdict.sent).toBeGreaterThanOrEqual(20_000 - kills * 2 * connections);
    await Promise.all(workers.map((worker) => worker.stop()));
  }, 180_000);
});

describe('a worker is killed while a file is read', () => {
  it('three times: every row is there once', async () => {
    // Every tenth row repeats an earlier address, and the repetitions lie chunks apart.
    const rows = Array.from(
      { length: 60_000 },
      (_, index) => `user${index % 10 === 9 ? index - 9 : index}@example.com`,
    );
    const id = await newMailing(api.api, `email\n${rows.join('\n')}\n`, { fields: { ratePerSecond: '1' } });
    for (let kill = 1; kill <= 3; kill += 1) {
      await runUntilKilled('worker', { ...stores.environment, SEMEL_FAILPOINTS: 'ingest.written=kill@1' });
    }
    const before = (await api.api.get(`/v1/mailings/${id}`)).body;
    expect(before).toMatchObject({ status: 'INGESTING', totals: { sent: 0 } });
    expect(before.totals.lines).toBeGreaterThanOrEqual(30_000);
    const worker = await startWorker();
    const mailing = await mailingWith(api.api, id, 'SENDING');
    expect(mailing.totals).toMatchObject({ lines: 60_000, entries: 54_000, duplicates: 6_000, invalid: 0 });
    const { rows: found } = await sql<{ entries: number; lines: number }>`
      select count(*)::integer as entries, count(distinct line)::integer as lines from mailing_entries`.execute(
      stores.db,
    );
    expect(found[0]).toEqual({ entries: 54_000, lines: 54_000 });
    await worker.stop();
  });
});

describe('the mail server drops the connection after DATA', () => {
  const dropFirst = () => {
    sink.moodFor = (address, times) => (address === 'user3@example.com' && times === 0 ? 'drop-after-data' : 'take');
  };

  it('at-most-once: that entry is UNKNOWN and nothing is sent again, until a person says so', async () => {
    dropFirst();
    const worker = await startWorker();
    const id = await newMailing(api.api, csvOf(5));
    await mailingWith(api.api, id, 'COMPLETED');
    expect(await judgeMailing(stores.db, id, sink)).toMatchObject({ sent: 4, unknown: 1 });
    expect(arrivedTwice(sink)).toEqual([]);
    const [doubtful] = (await api.api.get(`/v1/mailings/${id}/entries?status=UNKNOWN`)).body.items;
    expect(doubtful).toMatchObject({ email: 'user3@example.com', line: 4, attempts: 1 });

    expect((await api.api.post(`/v1/mailings/${id}/resend-unknown`, {})).body.status).toBe('SENDING');
    await mailingWith(api.api, id, 'COMPLETED');
    expect(await judgeMailing(stores.db, id, sink)).toMatchObject({ sent: 5, unknown: 0 });
    expect(arrivedTwice(sink)).toEqual([`<${id}.4@localhost>`]);
    await worker.stop();
  });

  it('at-least-once: the same Message-ID arrives again', async () => {
    dropFirst();
    const worker = await startWorker({ MAIL_POLICY: 'at-least-once' });
    const id = await newMailing(api.api, csvOf(5));
    await mailingWith(api.api, id, 'COMPLETED');
    expect(await judgeMailing(stores.db, id, sink)).toMatchObject({ sent: 5, unknown: 0 });
    expect(arrivedTwice(sink)).toEqual([`<${id}.4@localhost>`]);
    await worker.stop();
  });
});
