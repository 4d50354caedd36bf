import { randomUUID } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestBytes, sendRaw } from '../api/raw-request.ts';
import { startSmtpSink } from '../store/mail/smtp-sink.ts';
import { entriesOf, mailingWith, newMailing, uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { expectSafe, SafeApi } from './safe-answer.ts';

let service: TestService;
let api: SafeApi;
let sink: Awaited<ReturnType<typeof startSmtpSink>>;

beforeAll(async () => {
  sink = await startSmtpSink();
  service = await startTestService({ environment: { MAIL_URL: sink.url } });
  api = new SafeApi(service.api.url);
});

afterAll(async () => {
  await api.close();
  await service.close();
  await sink.close();
});

/** What ends a line for somebody, and the header that would follow. */
const breaks = ['\r\n', '\n', '\r', '\0', '\x0b', '\x0c', '\x85', '\r\n ', '\n\t', '%0d%0a', '\\r\\n', '\x1b[2J'];
const names = [
  'Idempotency-Key',
  'X-Request-Id',
  'X-Client-ID',
  'Prefer',
  'Authorization',
  'Accept',
  'Content-Type',
  'Host',
];

describe('a line break in a header', () => {
  it.each(names)('%s begins no header of the answer, and is not taken over', async (name) => {
    const body = '{"owner":"Ada","currency":"EUR"}';
    for (const separator of breaks) {
      const lines = [`${name}: a123456789${separator}X-Evil: 1`, `Content-Length: ${body.length}`];
      const answer = await sendRaw(service.api.url, requestBytes('POST /v1/accounts', lines, body));
      expectSafe(answer, JSON.stringify(separator));
      expect(Object.keys(answer.headers)).not.toContain('x-evil');
      expect(answer.headers['x-request-id']).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
      for (const value of Object.values(answer.headers)) expect(String(value)).not.toMatch(/[\u0000-\u001f\u007f]/);
    }
  });

  it('in a path or a query begins no header of the answer', async () => {
    for (const target of [
      '/v1/operations%0d%0aX-Evil:1',
      '/v1/operations?cursor=%0d%0aX-Evil:1',
      '/v/%0d%0aX-Evil:1',
      '/u/a%0aX-Evil:1',
    ]) {
      const answer = await sendRaw(service.api.url, requestBytes(`GET ${target}`, []));
      expectSafe(answer, target);
      expect(Object.keys(answer.headers)).not.toContain('x-evil');
    }
  });

  it('that would be a second request is none', async () => {
    const smuggled = 'GET /v1/operations HTTP/1.1\r\nHost: x\r\n\r\n';
    const answers = [
      requestBytes('POST /v1/accounts', ['Content-Length: 4', 'Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled}`),
      requestBytes('POST /v1/accounts', ['Content-Length: 0', `Content-Length: ${smuggled.length}`], smuggled),
      requestBytes('POST /v1/accounts', ['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${smuggled}`),
      requestBytes('POST /v1/accounts', ['Transfer-Encoding : chunked'], `0\r\n\r\n${smuggled}`),
      requestBytes('POST /v1/accounts', ['Transfer-Encoding: xchunked'], `0\r\n\r\n${smuggled}`),
    ].map((bytes) => sendRaw(service.api.url, bytes));
    for (const answer of await Promise.all(answers)) {
      expect(answer.status).toBe(400);
      expect(answer.text.match(/HTTP\/1\.1/g)).toBeNull();
    }
  });

  it('in the name of an uploaded file is not in the header of its export', async () => {
    const filename = '“list”; filename=evil.exe; x=é';
    const id = await newMailing(api, 'email\nnobody\n', { filename });
    await mailingWith(api, id, 'COMPLETED');
    const answer = await api.get(`/v1/mailings/${id}/entries`, { headers: { accept: 'text/csv' } });
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="[A-Za-z0-9._-]+-entries\.csv"$/);
  });
});

describe('a mail', () => {
  const evil = [
    '\r\nBcc: victim@example.com',
    '\nBcc: victim@example.com',
    '\rBcc: victim@example.com',
    '\u2028Bcc: victim@example.com',
    '\0',
    '\r\n\r\n<h1>another body</h1>',
    '\r\n.\r\nMAIL FROM:<evil@example.com>',
  ];

  it.each(evil)('is never made of a form with a break in a header: %j', async (text) => {
    for (const fields of [
      { subject: `Hello${text}` },
      { from: `Us${text} <us@example.com>` },
      { from: `Us <us@example.com${text}>` },
      { from: `us@example.com${text}` },
    ]) {
      const answer = await uploadCsv(api, 'email\nada@example.com\n', { fields });
      expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: 'INVALID_REQUEST' });
    }
  });

  it('has the headers that it should have, whatever is in the rows', async () => {
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const rows = evil.flatMap((text, index) => [
      `name${index}@example.com,${quoted(`Eve${text}`)}`,
      `${quoted(`address${index}@example.com${text}`)},Eve`,
      `${quoted(`"a${text}"@example.com`)},Eve`,
    ]);
    const fields = { subject: 'Dear {{name}}', text: 'Hello {{name}}', html: '<p>{{name}}</p>' };
    const id = await newMailing(api, `email,name\n${rows.join('\n')}\nada@example.com,Ada\n`, { fields });
    await mailingWith(api, id, 'COMPLETED');
    const entries = await entriesOf(api, id);
    expect(entries.filter(({ status }) => status === 'SENT').map(({ email }) => email)).toEqual(['ada@example.com']);
    const text = `email,name\n${evil.map((value, index) => `text${index}@example.com,${quoted(`Eve${value}`)}`).join('\n')}`;
    const plain = await newMailing(api, text, { fields: { subject: 'Hello', text: '{{name}}' } });
    await mailingWith(api, plain, 'COMPLETED');
    expect(sink.mails.length).toBeGreaterThan(3);
    for (const mail of sink.mails) {
      expect(mail.recipients).toHaveLength(1);
      expect([...mail.headers.keys()]).not.toContain('bcc');
      expect(mail.recipients).not.toContain('victim@example.com');
    }
  });
});

describe('the export of a mailing', () => {
  const formulas = [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=2',
    '=cmd|"/c calc"!A1',
    '＝1+1',
    '＋1',
    '－1',
    '＠x',
    '=HYPERLINK("http://evil.example";"x")',
  ];

  it('has no cell that a spreadsheet takes for a formula', async () => {
    const rows = formulas.map(
      (formula) => `"${formula.replaceAll('"', '""')}@example.com","${formula.replaceAll('"', '""')}"`,
    );
    const mood = ['=refused', '+later', '@evil', '-x'];
    const id = await newMailing(
      api,
      `email,name\n${rows.join('\n')}\n${mood.map((name) => `${name}@example.com,x`).join('\n')}\n`,
    );
    await mailingWith(api, id, 'COMPLETED');
    // What the mail server said is written by somebody else as well.
    await service.db
      .updateTable('mailing_entries')
      .set({ last_error: '=1+1 said the server', external_id: '@id' })
      .where('mailing_id', '=', id)
      .execute();
    const { text } = await api.get(`/v1/mailings/${id}/entries`, { headers: { accept: 'text/csv' } });
    const cells = (parse(text) as string[][]).slice(1).flat();
    expect(cells.filter((cell) => cell.includes('said the server')).length).toBe(formulas.length + mood.length);
    expect(cells.filter((cell) => /^[=+\-@\t\r＝＋－＠]/.test(cell))).toEqual([]);
  });
});

it('a key, a sub-client and a request id come back as they were given or not at all', async () => {
  const key = `k~!"#$%&'()*+,-./:;<=>?@[]^_{|} ${randomUUID()}`;
  const answer = await api.post(
    '/v1/accounts',
    { owner: 'Ada', currency: 'EUR' },
    { key, headers: { 'x-request-id': 'a b' } },
  );
  expect(answer.status).toBe(201);
  expect(JSON.stringify(answer.headers)).not.toContain(key.slice(0, 8));
  expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
});
