import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../../store/mail/smtp-sink.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestStores, type TestStores } from '../../support/service.ts';
import { failOperations, listAlerts, mailerFor, queueAll } from './alerts.ts';

let stores: TestStores;
let sink: SmtpSink;

beforeAll(async () => {
  stores = await openTestStores();
});

afterAll(async () => {
  await stores.close();
});

beforeEach(async () => {
  await stores.db.deleteFrom('alerts').execute();
  sink = await startSmtpSink();
});

afterEach(async () => {
  await sink.close();
});

const queue = async (count: number) => await queueAll(stores.db, failOperations(count));
const messageIds = () => sink.mails.map((mail) => mail.headers.get('message-id'));

describe('grouping', () => {
  it('one failed operation is one mail', async () => {
    const [event] = await queue(1);
    expect(await mailerFor(stores.db, sink.url).runOnce()).toBe(1);
    expect(sink.mails).toHaveLength(1);
    expect(sink.mails[0]?.recipients).toEqual(['ops@example.com']);
    expect(sink.mails[0]?.headers.get('subject')).toBe('1 operation failed');
    expect(sink.mails[0]?.text).toContain(`/v1/operations/${event?.record_id}`);
    expect(await listAlerts(stores.db)).toMatchObject([{ status: 'SENT', external_id: 'queued as 1', attempts: 1 }]);
    expect(await mailerFor(stores.db, sink.url).runOnce()).toBe(0);
    expect(sink.mails).toHaveLength(1);
  });

  it('200 at once are one mail that counts all of them and lists the first 50', async () => {
    const events = await queue(200);
    expect(await mailerFor(stores.db, sink.url).runOnce()).toBe(200);
    expect(sink.mails).toHaveLength(1);
    expect(sink.mails[0]?.headers.get('subject')).toBe('200 operations failed');
    const text = sink.mails[0]?.text ?? '';
    const listed = [...text.matchAll(/\/v1\/operations\/([0-9a-f-]{36})/g)].map(([, id]) => id);
    expect(new Set(listed).size).toBe(50);
    expect(events.map((event) => event.record_id)).toEqual(expect.arrayContaining(listed));
    const counts = [...text.matchAll(/^ +(\d+) {2}(\S+) {2}(\S+)$/gm)].map(([, count]) => Number(count));
    expect(counts.reduce((total, count) => total + count, 0)).toBe(200);
    expect(text).toContain('… and 150 more');
  });

  it('nothing is sent before the gathering time is over, and then the youngest goes with the oldest', async () => {
    await queue(2);
    const mailer = mailerFor(stores.db, sink.url, { gatherMs: 3_600_000 });
    expect(await mailer.runOnce()).toBe(0);
    await sql`update alerts set created_at = now() - interval '2 hours'`.execute(stores.db);
    await queue(3);
    expect(await mailer.runOnce()).toBe(5);
    expect(sink.mails).toHaveLength(1);
  });

  it('after a mail, what fails next is gathered for the pause', async () => {
    await queue(1);
    const mailer = mailerFor(stores.db, sink.url, { pauseMs: 3_600_000 });
    expect(await mailer.runOnce()).toBe(1);
    await queue(7);
    expect(await mailer.runOnce()).toBe(0);
    await sql`update alerts set sent_at = sent_at - interval '2 hours'`.execute(stores.db);
    expect(await mailer.runOnce()).toBe(7);
    expect(sink.mails).toHaveLength(2);
  });

  it('many mailers at once put each alert into one mail', async () => {
    const mailers = Array.from({ length: 6 }, () => mailerFor(stores.db, sink.url));
    for (let round = 1; round <= 5; round += 1) {
      const [, ...told] = await Promise.all([queue(40), ...mailers.map((mailer) => mailer.runOnce())]);
      expect(told.every((count) => count <= 40 * round)).toBe(true);
    }
    await eventually(async () => {
      await mailers[0]?.runOnce();
      expect((await listAlerts(stores.db)).every((alert) => alert.status === 'SENT')).toBe(true);
    });
    const counted = sink.mails.map((mail) => Number.parseInt(mail.headers.get('subject') ?? '', 10));
    expect(counted.reduce((total, count) => total + count, 0)).toBe(200);
    expect(new Set(messageIds()).size).toBe(sink.mails.length);
  });
});

describe('when the mail server does not take it', () => {
  it('a server that is away gets it later, once', async () => {
    const { url, port } = sink;
    await sink.close();
    await queue(3);
    const mailer = mailerFor(stores.db, url);
    expect(await mailer.runOnce()).toBe(0);
    const waiting = await listAlerts(stores.db);
    expect(waiting.every((alert) => alert.status === 'PENDING' && alert.attempts === 1)).toBe(true);
    sink = await startSmtpSink({ port });
    await eventually(async () => expect(await mailer.runOnce()).toBe(3));
    expect(await mailer.runOnce()).toBe(0);
    expect(sink.mails).toHaveLength(1);
    expect(messageIds()).toEqual([waiting[0]?.message_id]);
  });

  it.each([
    { at: 'rcpt', code: 451 },
    { at: 'data', code: 452 },
    { at: 'mail', code: 550 },
  ] as const)('a refusal ($code at $at) loses nothing, and the next attempt is the same mail', async (refusal) => {
    await queue(2);
    sink.refusals.push(refusal);
    const mailer = mailerFor(stores.db, sink.url);
    expect(await mailer.runOnce()).toBe(0);
    const refused = await listAlerts(stores.db);
    expect(refused[0]).toMatchObject({ status: 'PENDING', last_error: expect.stringContaining(`${refusal.code}`) });
    await eventually(async () => expect(await mailer.runOnce()).toBe(2));
    expect(messageIds()).toEqual([refused[0]?.message_id]);
  });

  it('the pauses grow, and what fails meanwhile waits with the rest', async () => {
    await sink.close();
    await queue(1);
    const mailer = mailerFor(stores.db, sink.url, { retryMs: 60_000, maxRetryMs: 200_000 });
    const pausesMs: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      expect(await mailer.runOnce()).toBe(0);
      const { rows } = await sql<{ ms: number }>`
        select extract(epoch from next_attempt_at - now())::float8 * 1000 as ms from alerts
        where message_id is not null`.execute(stores.db);
      pausesMs.push(Math.round((rows[0]?.ms ?? 0) / 10_000) * 10_000);
      await sql`update alerts set next_attempt_at = now() where message_id is not null`.execute(stores.db);
    }
    expect(pausesMs).toEqual([60_000, 120_000, 200_000, 200_000]);
    await sql`update alerts set next_attempt_at = now() + interval '1 hour' where message_id is not null`.execute(
      stores.db,
    );
    await queue(5);
    expect(await mailer.runOnce()).toBe(0);
    expect((await listAlerts(stores.db)).filter((alert) => alert.message_id === null)).toHaveLength(5);
  });
});
