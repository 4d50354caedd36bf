import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CountingSink, startCountingSink } from '../../support/counting-sink.ts';
import { eventually } from '../../support/eventually.ts';
import { arrivedTwice, judgeMailing } from '../../support/judge-mailing.ts';
import { csvOf, entriesOf, mailingWith, newMailing } from '../../support/mailings.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let sink: CountingSink;
let service: TestService;

beforeAll(async () => {
  sink = await startCountingSink();
  service = await startTestService({
    environment: { MAIL_URL: `${sink.url}?ignoreTLS=true`, RETRY_DELAYS_MS: '50,100', MAIL_CONNECTIONS: '4' },
  });
});

afterEach(() => {
  sink.moodFor = () => 'take';
});

afterAll(async () => {
  await service.close();
  await sink.close();
});

const send = async (csv: string, fields?: Record<string, string>) => {
  const id = await newMailing(service.api, csv, fields ? { fields } : {});
  return { id, mailing: await mailingWith(service.api, id, 'COMPLETED') };
};
const arrivedOf = (id: string) => [...sink.taken.keys()].filter((messageId) => messageId.startsWith(`<${id}.`)).length;
const deadLettersOf = async (id: string) =>
  await service.db.selectFrom('dead_letters').selectAll().where('record_id', '=', id).orderBy('line').execute();

describe('a server that says "later"', () => {
  it('is asked again, and the third time it takes the mail', async () => {
    sink.moodFor = (_, times) => (times < 2 ? { at: 'rcpt', code: 451 } : 'take');
    const { id, mailing } = await send(csvOf(3, 100));
    expect(mailing.totals).toMatchObject({ sent: 3, failed: 0 });
    expect((await entriesOf(service.api, id)).map((entry) => entry.attempts)).toEqual([3, 3, 3]);
    expect(await deadLettersOf(id)).toEqual([]);
  });

  it('three times: the entry has failed, leaves a dead letter, and retry-failed sends only that one', async () => {
    sink.moodFor = (address) => (address === 'user202@example.com' ? { at: 'data', code: 451 } : 'take');
    const { id, mailing } = await send(csvOf(3, 201));
    expect(mailing.totals).toMatchObject({ sent: 2, failed: 1 });
    expect(await entriesOf(service.api, id, 'FAILED')).toMatchObject([
      { email: 'user202@example.com', attempts: 3, lastError: expect.stringMatching(/not now/) },
    ]);
    expect(await deadLettersOf(id)).toMatchObject([{ operation: 'mailing.send', line: 3, attempts: 3 }]);

    sink.moodFor = () => 'take';
    expect((await service.api.post(`/v1/mailings/${id}/retry-failed`, {})).status).toBe(200);
    await mailingWith(service.api, id, 'COMPLETED');
    expect(await judgeMailing(service.db, id, sink)).toMatchObject({ sent: 3, failed: 0 });
    expect(arrivedTwice(sink)).toEqual([]);
    expect(await deadLettersOf(id)).toEqual([]);
  });

  it.each([421, 450, 454])('with %i: the mailing slows down and no attempt is used up', async (code) => {
    sink.moodFor = (_, times) => (times < 1 ? { at: 'rcpt', code } : 'take');
    const id = await newMailing(service.api, csvOf(1, 300 + code));
    await eventually(async () => {
      const { body } = await service.api.get(`/v1/mailings/${id}`);
      expect(body).toMatchObject({ throttledUntil: expect.any(String), lastError: expect.stringMatching(/not now/) });
    });
    await mailingWith(service.api, id, 'COMPLETED');
    expect(await entriesOf(service.api, id)).toMatchObject([{ status: 'SENT', attempts: 1 }]);
  });
});

describe('a server that says no for good', () => {
  it('is not asked again, and an address that does not exist is suppressed from then on', async () => {
    sink.moodFor = (address) => (address === 'user402@example.com' ? { at: 'rcpt', code: 550 } : 'take');
    const { id, mailing } = await send(csvOf(2, 401));
    expect(mailing.totals).toMatchObject({ sent: 1, failed: 1 });
    expect(await entriesOf(service.api, id, 'FAILED')).toMatchObject([{ attempts: 1 }]);
    expect((await service.api.get('/v1/suppressions')).body.items).toMatchObject([
      { email: 'user402@example.com', reason: 'bounced', mailingId: id },
    ]);

    sink.moodFor = () => 'take';
    const next = await send(csvOf(2, 402));
    expect(next.mailing.totals).toMatchObject({ sent: 1, suppressed: 1 });
    expect(await entriesOf(service.api, next.id, 'SUPPRESSED')).toMatchObject([
      { email: 'user402@example.com', attempts: 0, lastError: 'bounced' },
    ]);
  });

  it('in the mailing where it bounced, a person may try it again; taken, it is no longer suppressed', async () => {
    sink.moodFor = () => ({ at: 'rcpt', code: 550 });
    const { id } = await send('email\nmended@example.com\n');
    sink.moodFor = () => 'take';
    await service.api.post(`/v1/mailings/${id}/retry-failed`, {});
    expect((await mailingWith(service.api, id, 'COMPLETED')).totals).toMatchObject({ sent: 1, failed: 0 });
    const { items } = (await service.api.get('/v1/suppressions')).body;
    expect(items.map((item: { email: string }) => item.email)).not.toContain('mended@example.com');
  });

  it('to the mail and not to the address: nobody is suppressed', async () => {
    sink.moodFor = () => ({ at: 'data', code: 554 });
    const { mailing } = await send('email\nspam@example.com\n');
    expect(mailing.totals).toMatchObject({ failed: 1 });
    const { items } = (await service.api.get('/v1/suppressions')).body;
    expect(items.map((item: { email: string }) => item.email)).not.toContain('spam@example.com');
  });
});

it('with a rate, a wait that ends between two looks at the clock is no wait for ever', async () => {
  const now = performance.now.bind(performance);
  let [looks, jumpedMs] = [0, 0];
  // Each look is up to ten milliseconds after the one before, and a wait takes forty at most here.
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    looks += 1;
    jumpedMs += (looks * 7) % 11;
    return now() + jumpedMs;
  });
  try {
    const { mailing } = await send(csvOf(300, 20_000), { ratePerSecond: '200' });
    expect(mailing.totals).toMatchObject({ sent: 300 });
  } finally {
    clock.mockRestore();
  }
});

describe('a person steers', () => {
  it('pause: nothing new is begun; resume: the rest is sent, each address once', async () => {
    const id = await newMailing(service.api, csvOf(600, 1_000), { fields: { ratePerSecond: '200' } });
    await eventually(async () => {
      expect((await service.api.get(`/v1/mailings/${id}`)).body.totals.sent).toBeGreaterThan(20);
    });
    expect((await service.api.post(`/v1/mailings/${id}/pause`, {})).body.status).toBe('PAUSED');
    const arrivedBefore = arrivedOf(id);
    // What was in hand ends; then every batch is let go, and nobody holds anything any more.
    const halted = await eventually(async () => {
      const { rows } = await sql<{ busy: number; sent: number }>`
        select sum(sending + is_queued::integer)::integer as busy, sum(sent)::integer as sent
        from mailing_batches where mailing_id = ${id}::uuid`.execute(service.db);
      expect(rows[0]?.busy).toBe(0);
      return rows[0]?.sent;
    });
    expect((await service.api.get(`/v1/mailings/${id}`)).body.totals).toMatchObject({ sent: halted });
    expect(halted).toBeLessThan(600);
    // Only what was in hand still went out: four connections, and as many that waited for one.
    expect(arrivedOf(id) - arrivedBefore).toBeLessThanOrEqual(8);
    expect((await service.api.post(`/v1/mailings/${id}/resume`, {})).body.status).toBe('SENDING');
    await mailingWith(service.api, id, 'COMPLETED');
    expect(await judgeMailing(service.db, id, sink)).toMatchObject({ sent: 600 });
    expect(arrivedTwice(sink)).toEqual([]);
    const { items } = (await service.api.get(`/v1/mailings/${id}/history`)).body;
    expect(items.map((item: { to: string }) => item.to)).toEqual([
      'QUEUED',
      'INGESTING',
      'SENDING',
      'PAUSED',
      'SENDING',
      'COMPLETED',
    ]);
  });

  it('cancel: what is left stays unsent for good', async () => {
    const id = await newMailing(service.api, csvOf(500, 2_000), { fields: { ratePerSecond: '50' } });
    await mailingWith(service.api, id, 'SENDING');
    expect((await service.api.post(`/v1/mailings/${id}/cancel`, {})).body.status).toBe('CANCELLED');
    const arrivedBefore = arrivedOf(id);
    for (const action of ['resume', 'pause', 'retry-failed']) {
      expect(await service.api.post(`/v1/mailings/${id}/${action}`, {})).toMatchObject({
        status: 409,
        body: { code: 'INVALID_STATE', currentStatus: 'CANCELLED' },
      });
    }
    await eventually(async () => {
      const { rows } = await sql<{ busy: number }>`
        select sum(sending + is_queued::integer)::integer as busy
        from mailing_batches where mailing_id = ${id}::uuid`.execute(service.db);
      expect(rows[0]?.busy).toBe(0);
    });
    expect(arrivedOf(id) - arrivedBefore).toBeLessThanOrEqual(8);
    const { totals } = (await service.api.get(`/v1/mailings/${id}`)).body;
    expect(totals.pending).toBeGreaterThan(0);
  });

  it('says what became of mails in doubt, one by one or all at once', async () => {
    sink.moodFor = () => 'drop-after-data';
    const { id, mailing } = await send(csvOf(4, 3_000));
    expect(mailing.totals).toMatchObject({ unknown: 4, sent: 0 });
    const resolve = (line: number, body: unknown) =>
      service.api.post(`/v1/mailings/${id}/entries/${line}/resolve`, body);
    expect((await resolve(2, { outcome: 'applied', note: 'seen in the log' })).body).toMatchObject({ status: 'SENT' });
    expect((await resolve(3, { outcome: 'not_applied' })).body).toMatchObject({ status: 'FAILED' });
    expect(await resolve(2, { outcome: 'applied' })).toMatchObject({ status: 409, body: { code: 'INVALID_STATE' } });
    expect((await resolve(99, { outcome: 'applied' })).status).toBe(404);
    expect((await resolve(4, { outcome: 'perhaps' })).status).toBe(400);
    sink.moodFor = () => 'take';
    expect((await service.api.post(`/v1/mailings/${id}/entries/4/resend`, {})).status).toBe(200);
    await mailingWith(service.api, id, 'COMPLETED');
    await service.api.post(`/v1/mailings/${id}/resolve-unknown`, { outcome: 'applied' });
    expect(await judgeMailing(service.db, id)).toMatchObject({ sent: 3, failed: 1, unknown: 0 });
    expect(arrivedTwice(sink)).toEqual([`<${id}.4@localhost>`]);
  });
});

describe('the end of a mailing', () => {
  it('is an event, once for each time that it ends', async () => {
    const { id } = await send(csvOf(2, 4_000));
    const events = await service.db.selectFrom('events').selectAll().where('record_id', '=', id).execute();
    expect(events).toMatchObject([
      { type: 'mailing.completed', data: { id, status: 'COMPLETED', totals: { entries: 2, sent: 2, pending: 0 } } },
    ]);
  });

  it('comes also if no row has an address', async () => {
    const { mailing } = await send('email\nnobody\nnowhere\n');
    expect(mailing.totals).toMatchObject({ lines: 2, entries: 2, invalid: 2, sent: 0 });
  });
});
