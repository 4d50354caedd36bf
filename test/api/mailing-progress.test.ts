import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { type CountingSink, startCountingSink } from '../support/counting-sink.ts';
import { eventually } from '../support/eventually.ts';
import { csvOf, entriesOf, mailingWith, newMailing, uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';

let sink: CountingSink;
let service: TestService;

beforeAll(async () => {
  sink = await startCountingSink();
  const environment = { MAIL_URL: `${sink.url}?ignoreTLS=true`, WEBHOOK_ALLOW_PRIVATE: 'true' };
  service = await startTestService({ environment });
});

afterAll(async () => {
  await service.close();
  await sink.close();
});

const authorization = { authorization: 'Bearer test-key-of-client-default' };

describe('progress', () => {
  it('comes as events, and the stream ends with the mailing', async () => {
    const id = await newMailing(service.api, csvOf(300), { fields: { ratePerSecond: '200' } });
    const answer = await fetch(`${service.api.url}/v1/mailings/${id}/events`, { headers: authorization });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const events = (await answer.text()).split('\n\n').filter((event) => event.startsWith('event: progress'));
    const views = events.map((event) => JSON.parse(event.split('\ndata: ')[1] ?? ''));
    expect(views.length).toBeGreaterThan(1);
    expect(views.at(-1)).toMatchObject({ id, status: 'COMPLETED', totals: { sent: 300, pending: 0 } });
    const sent = views.map((view) => view.totals.sent);
    expect(sent).toEqual(sent.toSorted((a, b) => a - b));
  });

  it('somebody who reads slowly holds up nothing, and still gets the end', async () => {
    const id = await newMailing(service.api, csvOf(200, 20_000), { fields: { ratePerSecond: '200' } });
    const answer = await fetch(`${service.api.url}/v1/mailings/${id}/events`, { headers: authorization });
    await mailingWith(service.api, id, 'COMPLETED');
    const events = (await answer.text()).split('\n\n').filter((event) => event.startsWith('event: progress'));
    expect(JSON.parse(events.at(-1)?.split('\ndata: ')[1] ?? '')).toMatchObject({ status: 'COMPLETED' });
  });

  it('a stream that is open does not hold up the end of the service', async () => {
    const own = await startTestService({ environment: { SHUTDOWN_TIMEOUT_MS: '20000' } });
    const id = await newMailing(own.api, csvOf(50), { fields: { ratePerSecond: '1' } });
    const stream = await fetch(`${own.api.url}/v1/mailings/${id}/events`, { headers: authorization });
    const reading = stream.text();
    await own.close();
    expect(await reading).toContain('event: progress');
  });
});

it('the end is told to a webhook', async () => {
  const told: unknown[] = [];
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    told.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  expect((await service.api.post('/v1/webhooks', { url, events: ['mailing.completed'] })).status).toBe(201);
  const id = await newMailing(service.api, csvOf(2, 30_000), { filename: 'told.csv' });
  const totals = { lines: 2, entries: 2, sent: 2, pending: 0, failed: 0, unknown: 0, invalid: 0, duplicates: 0 };
  await eventually(() =>
    expect(told).toMatchObject([
      { type: 'mailing.completed', data: { id, filename: 'told.csv', status: 'COMPLETED', totals } },
    ]),
  );
  receiver.closeAllConnections();
  receiver.close();
});

describe('the entries', () => {
  it('can be taken as CSV, and nothing in it is a formula', async () => {
    const csv = 'email,name\n=cmd|calc@x,A\n"+1,2",B\nok@example.com,C\n@sum,D\n';
    const id = await newMailing(service.api, csv);
    await mailingWith(service.api, id, 'COMPLETED');
    const answer = await service.api.get(`/v1/mailings/${id}/entries`, { headers: { accept: 'text/csv' } });
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    const rows: Record<string, string>[] = parse(answer.text, { columns: true });
    expect(rows.map((row) => [row.line, row.email, row.status])).toEqual([
      ['2', "'=cmd|calc@x", 'INVALID'],
      ['3', "'+1,2", 'INVALID'],
      ['4', 'ok@example.com', 'SENT'],
      ['5', "'@sum", 'INVALID'],
    ]);
    const invalid = await service.api.get(`/v1/mailings/${id}/entries?status=SENT`, {
      headers: { accept: 'text/csv' },
    });
    expect(parse(invalid.text, { columns: true })).toHaveLength(1);
  });

  it('come page by page, each once, also those of one status', async () => {
    const rows = Array.from({ length: 1_201 }, (_, index) =>
      index % 400 === 0 ? `bad${index}` : `p${index}@example.com`,
    );
    const id = await newMailing(service.api, `email\n${rows.join('\n')}\n`);
    await mailingWith(service.api, id, 'COMPLETED');
    const all = await entriesOf(service.api, id);
    expect(all.map((entry) => entry.line)).toEqual(rows.map((_, index) => index + 2));
    expect((await entriesOf(service.api, id, 'INVALID')).map((entry) => entry.line)).toEqual([2, 402, 802, 1202]);
    expect(await entriesOf(service.api, id, 'SENT')).toHaveLength(1_197);
  });
});

describe('what belongs to another client', () => {
  it('answers like what does not exist', async () => {
    const id = await newMailing(service.api, csvOf(1));
    await ensureApiKey(service.db, 'key-of-another-client', { client: 'other', scopes: ['operate'] });
    const options = { apiKey: 'key-of-another-client' };
    for (const path of ['', '/entries', '/preview', '/history', '/events']) {
      expect((await service.api.get(`/v1/mailings/${id}${path}`, options)).status, path).toBe(404);
    }
    const actions = ['pause', 'resume', 'cancel', 'retry-failed', 'resend-unknown', 'entries/2/resend'];
    for (const action of actions) {
      expect((await service.api.post(`/v1/mailings/${id}/${action}`, {}, options)).status, action).toBe(404);
    }
    const resolve = await service.api.post(`/v1/mailings/${id}/resolve-unknown`, { outcome: 'applied' }, options);
    expect(resolve.status).toBe(404);
    expect((await service.api.get('/v1/mailings', options)).body.items).toEqual([]);
  });
});

it('mailings are listed newest first, by page and by status', async () => {
  const ids = [];
  for (let index = 0; index < 3; index += 1) ids.push(await newMailing(service.api, csvOf(1, 7_000 + index)));
  for (const id of ids) await mailingWith(service.api, id, 'COMPLETED');
  const first = (await service.api.get('/v1/mailings?limit=2&status=COMPLETED')).body;
  expect(first.items.map((item: { id: string }) => item.id)).toEqual([ids[2], ids[1]]);
  const next = (await service.api.get(`/v1/mailings?limit=1&cursor=${first.nextCursor}`)).body;
  expect(next.items[0].id).toBe(ids[0]);
  expect((await service.api.get('/v1/mailings?status=LOST')).status).toBe(400);
});

it('a file that turns out to be broken far inside mails nobody, and says which line', async () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => `deep${index}@example.com,x`);
  const csv = `email,name\n${rows.join('\n')}\nlast@example.com,"never closed\n`;
  const answer = await uploadCsv(service.api, csv, { filename: 'broken.csv' });
  expect(answer.status).toBe(202);
  const mailing = await mailingWith(service.api, answer.body.mailingId, 'FAILED');
  expect(mailing).toMatchObject({
    failure: { code: 'CSV_INVALID', line: 20_002, message: expect.stringMatching(/quote/) },
    totals: { sent: 0 },
  });
  expect([...sink.taken.keys()].filter((id) => id.includes(answer.body.mailingId))).toEqual([]);
  // Mended, it may come again under its name.
  const mended = await uploadCsv(service.api, csvOf(1, 9_000), { filename: 'broken.csv' });
  expect(mended.status).toBe(202);
});
