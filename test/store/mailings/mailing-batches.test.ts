import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acknowledgeFault, checkSends, countFaults, listFaults } from '../../../src/store/invariants.ts';
import { cancelMailing, pauseMailing, resumeMailing } from '../../../src/store/mailings/mailing-actions.ts';
import {
  type Advance,
  advanceBatch,
  type BatchClaim,
  beginBatch,
  type ClaimedEntry,
  type EntryOutcome,
  finishBatch,
  releaseBatch,
  returnUnsent,
} from '../../../src/store/mailings/mailing-batches.ts';
import { eventually } from '../../support/eventually.ts';
import { judgeMailing } from '../../support/judge-mailing.ts';
import { csvOf, mailingWith, newMailing } from '../../support/mailings.ts';
import { startTestService, type TestService } from '../../support/service.ts';

/** It reads the files. What is tested here takes the place of its worker, whose mail server does not exist. */
let service: TestService;
let mailingId: string;
let claim: BatchClaim;
let job: { mailingId: string; batch: number; outboxId: string };

const atMostOnce = { resend: false, maxAttempts: 3 };
const sent = (entry: ClaimedEntry): EntryOutcome => ({
  line: entry.line,
  epoch: entry.epoch,
  status: 'SENT',
  external_id: 'queued',
  error: null,
  retry_in_ms: null,
  is_throttled: false,
  is_bounced: false,
});

beforeAll(async () => {
  service = await startTestService({ environment: { MAIL_URL: 'smtp://127.0.0.1:1' } });
});

afterAll(() => service.close());

/** A mailing whose entries are there, cancelled before anything was sent, and resumed without the service knowing. */
async function prepare(rows: number): Promise<void> {
  mailingId = await newMailing(service.api, csvOf(rows), {
    query: 'identity=filename',
    fields: { ratePerSecond: '1' },
  });
  await mailingWith(service.api, mailingId, 'SENDING');
  await service.api.post(`/v1/mailings/${mailingId}/cancel`, {});
  // Its worker takes the batch once more to let go of it. From then on the batch is ours.
  await eventually(async () => expect(await isQueued()).toBe(false));
  await sql`update mailing_entries set status = 'PENDING', epoch = 0, attempts = 0, throttles = 0, next_attempt_at = null
    where mailing_id = ${mailingId}::uuid`.execute(service.db);
  await sql`update mailing_batches set pending = ${rows}, sending = 0, sent = 0, failed = 0, unknown = 0, is_queued = true
    where mailing_id = ${mailingId}::uuid`.execute(service.db);
  await sql`update mailings set status = 'SENDING', rate_per_second = null, throttle_level = 0, throttled_until = null
    where id = ${mailingId}::uuid`.execute(service.db);
  job = { mailingId, batch: 1, outboxId: '00000000-0000-7000-8000-000000000000' };
  claim = { mailingId, batch: 1, epoch: (await beginBatch(service.db, job, atMostOnce)) ?? 0 };
}

async function isQueued(): Promise<boolean | undefined> {
  const { rows } = await sql<{ is_queued: boolean }>`
    select is_queued from mailing_batches where mailing_id = ${mailingId}::uuid`.execute(service.db);
  return rows[0]?.is_queued;
}

async function claimEntries(by: BatchClaim, limit: number, outcomes: EntryOutcome[] = []): Promise<ClaimedEntry[]> {
  const result = await advanceBatch(service.db, by, { outcomes, after: 0, limit });
  return result.state === 'claimed' ? result.entries : [];
}

const stateOf = async (by: BatchClaim, outcomes: EntryOutcome[] = []): Promise<Advance['state']> =>
  (await advanceBatch(service.db, by, { outcomes, after: 0, limit: 1 })).state;
const statuses = async () =>
  (
    await sql<{ status: string }>`
      select status from mailing_entries where mailing_id = ${mailingId}::uuid order by line`.execute(service.db)
  ).rows.map((row) => row.status);

describe('a worker that was taken for dead', () => {
  it('claims nothing more, and what it had in hand is in doubt', async () => {
    await prepare(4);
    await claimEntries(claim, 2);
    const second = { ...claim, epoch: (await beginBatch(service.db, job, atMostOnce)) ?? 0 };
    expect(second.epoch).toBe(claim.epoch + 1);
    expect(await statuses()).toEqual(['UNKNOWN', 'UNKNOWN', 'PENDING', 'PENDING']);
    expect(await stateOf(claim)).toBe('lost');
    expect((await finishBatch(service.db, claim, { outboxId: job.outboxId, actor: 'test' })).state).toBe('lost');
    expect((await claimEntries(second, 9)).map((entry) => entry.line)).toEqual([4, 5]);
  });

  it('still tells what it knows: a mail that was taken is SENT, and nothing is counted twice', async () => {
    await prepare(3);
    const [first, other] = await claimEntries(claim, 2);
    const second = { ...claim, epoch: (await beginBatch(service.db, job, atMostOnce)) ?? 0 };
    if (!first || !other) throw new Error('nothing was claimed');
    await stateOf(claim, [sent(first), { ...sent(other), status: 'PENDING', retry_in_ms: 0 }]);
    await stateOf(claim, [sent(first)]);
    expect((await statuses()).slice(0, 2)).toEqual(['SENT', 'UNKNOWN']);
    const [last] = await claimEntries(second, 1);
    if (last) await stateOf(second, [sent(last)]);
    expect(await judgeMailing(service.db, mailingId)).toMatchObject({ sent: 2, unknown: 1 });
  });

  it('under at-least-once its entries come again, but not for ever', async () => {
    await prepare(1);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const epoch = (await beginBatch(service.db, job, { resend: true, maxAttempts: 3 })) ?? 0;
      expect(await claimEntries({ ...claim, epoch }, 1)).toHaveLength(1);
    }
    await beginBatch(service.db, job, { resend: true, maxAttempts: 3 });
    expect(await statuses()).toEqual(['UNKNOWN']);
  });
});

describe('a claim whose reply was lost', () => {
  it('goes back, because nobody was sent anything; what is in hand stays', async () => {
    await prepare(3);
    const [known] = await claimEntries(claim, 1);
    await claimEntries(claim, 1);
    await returnUnsent(service.db, claim, known ? [known.line] : []);
    expect(await statuses()).toEqual(['SENDING', 'PENDING', 'PENDING']);
    await returnUnsent(service.db, { ...claim, epoch: claim.epoch - 1 }, []);
    expect(await statuses()).toEqual(['SENDING', 'PENDING', 'PENDING']);
  });

  it('an outcome that is written twice counts once', async () => {
    await prepare(1);
    const [entry] = await claimEntries(claim, 1);
    if (!entry) throw new Error('nothing was claimed');
    await stateOf(claim, [sent(entry)]);
    await stateOf(claim, [sent(entry)]);
    expect(await judgeMailing(service.db, mailingId)).toMatchObject({ sent: 1 });
  });
});

describe('a halted mailing', () => {
  const action = () => ({ client: 'default', id: mailingId, actor: 'test' });

  it('gives nothing out, and its batch is let go', async () => {
    await prepare(2);
    await pauseMailing(service.db, action());
    expect(await stateOf(claim)).toBe('halted');
    expect(await releaseBatch(service.db, job)).toBe(true);
    expect(await resumeMailing(service.db, action())).toMatchObject({ kind: 'done', jobs: [{ name: 'send' }] });
    await cancelMailing(service.db, action());
  });

  it('resumed before its worker let go, keeps its job, so that the batch is not forgotten', async () => {
    await prepare(2);
    await pauseMailing(service.db, action());
    expect(await stateOf(claim)).toBe('halted');
    expect(await resumeMailing(service.db, action())).toMatchObject({ kind: 'done', jobs: [] });
    expect(await releaseBatch(service.db, job)).toBe(false);
    expect(await claimEntries(claim, 2)).toHaveLength(2);
  });
});

describe('a rate', () => {
  const clock = async () => {
    const { rows } = await sql<{ now: Date; next: Date }>`
      select clock_timestamp() as now, next_send_at as next from mailings where id = ${mailingId}::uuid`.execute(
      service.db,
    );
    return { nowMs: rows[0]?.now.getTime() ?? 0, nextMs: rows[0]?.next?.getTime() ?? 0 };
  };
  const advance = () => advanceBatch(service.db, claim, { outcomes: [], after: 0, limit: 5 });

  it('gives out a tenth of a second at a time, and the next share when its time has come', async () => {
    await prepare(5);
    await sql`update mailings set rate_per_second = 10, next_send_at = null where id = ${mailingId}::uuid`.execute(
      service.db,
    );
    const before = await clock();
    expect(await advance()).toMatchObject({ state: 'claimed', entries: [{}] });
    const after = await clock();
    // The driver rounds to milliseconds, so each end has one to spare.
    expect(after.nextMs).toBeGreaterThanOrEqual(before.nowMs + 99);
    expect(after.nextMs).toBeLessThanOrEqual(after.nowMs + 101);
  });

  it('is shared by all workers: whoever comes too early is told how long to wait', async () => {
    await prepare(5);
    await sql`update mailings set rate_per_second = 10, next_send_at = clock_timestamp() + interval '1 hour'
      where id = ${mailingId}::uuid`.execute(service.db);
    const answers = await Promise.all([advance(), advance(), advance()]);
    for (const answer of answers) expect(answer).toEqual({ state: 'wait', waitMs: expect.any(Number) });
    const waitsMs = answers.map((answer) => (answer.state === 'wait' ? answer.waitMs : 0));
    expect(Math.max(...waitsMs)).toBeLessThanOrEqual(3_600_000);
    expect(Math.min(...waitsMs)).toBeGreaterThan(3_000_000);
  });
});

describe('a mail that was sent twice leaves a trace', () => {
  const atLeastOnce = { resend: true, maxAttempts: 3 };
  const doubles = async () => {
    await checkSends(service.db);
    return await countFaults(service.db, 'entries_sent_twice');
  };
  let doubtful = 0;
  const onDoubt = (entries: number) => {
    doubtful = entries;
  };
  const takeOver = async () => {
    return { ...claim, epoch: (await beginBatch(service.db, job, { ...atLeastOnce, onDoubt })) ?? 0 };
  };
  const forget = async () => {
    await sql`delete from mailing_sends`.execute(service.db);
    await sql`delete from invariant_faults`.execute(service.db);
  };

  it('when a worker that was taken for dead had sent it too, whoever tells first', async () => {
    await prepare(2);
    const first = await claimEntries(claim, 2);
    const next = await takeOver();
    expect(doubtful).toBe(2);
    const second = await claimEntries(next, 2);
    expect(second.map(({ epoch }) => epoch)).toEqual([2, 2]);
    const [firstOf1, firstOf2] = first.map(sent);
    const [secondOf1, secondOf2] = second.map(sent);
    if (!firstOf1 || !firstOf2 || !secondOf1 || !secondOf2) throw new Error('nothing was claimed');
    await stateOf(claim, [firstOf1]);
    expect(await doubles()).toBe(0);
    await stateOf(next, [secondOf1, secondOf2]);
    expect(await doubles()).toBe(1);
    await stateOf(claim, [firstOf2]);
    expect(await doubles()).toBe(2);
    // The reply to a commit may be lost, so that it is written again: that is no other mail.
    await stateOf(claim, [firstOf1, firstOf2]);
    await stateOf(next, [secondOf1]);
    expect(await doubles()).toBe(2);
    const [fault] = await listFaults(service.db, { limit: 100 });
    expect(fault).toMatchObject({ detail: { mailingId, claims: [1, 2] } });
    await acknowledgeFault(service.db, { id: fault?.id ?? '', by: 'test', note: 'told them' });
    expect(await doubles()).toBe(1);
    await forget();
  });

  it('and when what was sent is sent again', async () => {
    await prepare(1);
    await stateOf(claim, (await claimEntries(claim, 1)).map(sent));
    expect(await doubles()).toBe(0);
    await sql`update mailing_entries set status = 'PENDING' where mailing_id = ${mailingId}::uuid`.execute(service.db);
    await sql`update mailing_batches set pending = 1, sent = 0 where mailing_id = ${mailingId}::uuid`.execute(
      service.db,
    );
    await stateOf(claim, (await claimEntries(claim, 1)).map(sent));
    expect(await doubles()).toBe(1);
    await forget();
  });

  it('but not when only one of the two had sent it', async () => {
    await prepare(1);
    const first = (await claimEntries(claim, 1)).map(sent);
    const next = await takeOver();
    const second = (await claimEntries(next, 1)).map((entry) => ({ ...sent(entry), status: 'FAILED' }) as const);
    await stateOf(claim, first);
    await stateOf(next, second);
    expect(await doubles()).toBe(0);
  });
});

describe('a step', () => {
  it('reads its own entries and not the whole mailing, also while the statistics know only other mailings', async () => {
    await sql`alter table mailing_entries set (autovacuum_enabled = false)`.execute(service.db);
    await prepare(400);
    await sql`analyze mailing_entries`.execute(service.db);
    await prepare(400);
    const read = await service.db.transaction().execute(async (tx) => {
      let [outcomes, after]: [EntryOutcome[], number] = [[], 0];
      for (let round = 0; round < 8; round += 1) {
        const result = await advanceBatch(tx, claim, { outcomes, after, limit: 5 });
        if (result.state !== 'claimed') throw new Error(`nothing was claimed: ${result.state}`);
        [outcomes, after] = [result.entries.map(sent), result.after];
      }
      const { rows } = await sql<{ read: number }>`
        select idx_tup_fetch + seq_tup_read as read from pg_stat_xact_user_tables
        where relname = 'mailing_entries'`.execute(tx);
      return rows[0]?.read;
    });
    // Each of the eight steps looks for five, claims them, and settles the five of the step before: some fifteen reads
    // for each of the forty. The whole mailing at every turn would be ten thousand.
    expect(read).toBeLessThan(1_000);
  });
});
