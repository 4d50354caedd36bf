import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CountingSink, startCountingSink } from '../../support/counting-sink.ts';
import { eventually } from '../../support/eventually.ts';
import { arrivedTwice, judgeMailing } from '../../support/judge-mailing.ts';
import { csvOf, mailingWith, newMailing } from '../../support/mailings.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let sink: CountingSink;

beforeAll(async () => {
  sink = await startCountingSink();
  const environment = { RETRY_DELAYS_MS: '1', MAIL_URL: `${sink.url}?ignoreTLS=true` };
  service = await startTestService({ environment });
});

afterAll(async () => {
  await service.close();
  await sink.close();
});

const letters = '/v1/admin/dead-letters';
const list = async (query = '') => (await service.api.get(`${letters}?${query}`)).body.items;

describe('mails that gave up', () => {
  it('are found by their mailing, and are sent again by it, one or all, each once', async () => {
    sink.moodFor = (address) => (/user(2|3|4)@/.test(address) ? { at: 'rcpt', code: 451 } : 'take');
    const id = await newMailing(service.api, csvOf(5));
    await mailingWith(service.api, id, 'COMPLETED');
    const items = await list(`mailing=${id}`);
    expect(items.map((item: { line: number }) => item.line).sort()).toEqual([3, 4, 5]);
    expect(items[0]).toMatchObject({
      operation: 'mailing.send',
      mailingId: id,
      currentStatus: 'FAILED',
      retryable: true,
    });

    sink.moodFor = () => 'take';
    const one = await service.api.send('POST', `${letters}/${items[0].id}/retry`);
    expect(one).toMatchObject({ status: 202, body: { mailingId: id, line: items[0].line } });
    await eventually(async () => expect(await list(`mailing=${id}`)).toHaveLength(2));
    const dry = (await service.api.post(`${letters}/retry`, { filter: { mailing: id }, dryRun: true })).body;
    expect(dry).toMatchObject({ matching: 2, wouldRun: 2, effects: { applied: 0, not_applied: 2 } });
    const all = await service.api.post(`${letters}/retry`, { filter: { mailing: id } });
    expect(all.body).toEqual({ dryRun: false, retried: 2, remaining: 0 });
    await eventually(async () => {
      expect((await service.api.get(`/v1/mailings/${id}`)).body.totals).toMatchObject({ sent: 5, failed: 0 });
    });
    await mailingWith(service.api, id, 'COMPLETED');
    expect(await judgeMailing(service.db, id, sink)).toMatchObject({ sent: 5, failed: 0 });
    expect(arrivedTwice(sink)).toEqual([]);
    expect(await list(`mailing=${id}`)).toEqual([]);
    const history = (await service.api.get(`/v1/mailings/${id}/history`)).body.items;
    const byOperators = history.filter((item: { actor: string }) => item.actor.startsWith('admin:default:'));
    expect(byOperators.map((item: { detail: { entries: number } }) => item.detail.entries)).toEqual([1, 2]);
  });

  it('of a cancelled mailing stay where they are', async () => {
    sink.moodFor = () => ({ at: 'rcpt', code: 550 });
    const id = await newMailing(service.api, csvOf(1, 900));
    await mailingWith(service.api, id, 'COMPLETED');
    const [letter] = await list(`mailing=${id}`);
    await sql`update mailings set status = 'CANCELLED' where id = ${id}::uuid`.execute(service.db);
    expect((await list(`mailing=${id}`))[0]).toMatchObject({ retryable: false });
    expect((await service.api.send('POST', `${letters}/${letter.id}/retry`)).status).toBe(409);
    const result = await service.api.post(`${letters}/retry`, { filter: { mailing: id } });
    expect(result.body).toEqual({ dryRun: false, retried: 0, remaining: 0 });
  });
});
