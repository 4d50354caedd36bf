import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../store/mail/smtp-sink.ts';
import { entriesOf, mailingWith, newMailing, uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';

let sink: SmtpSink;
let service: TestService;

beforeAll(async () => {
  sink = await startSmtpSink();
  const environment = { MAIL_URL: `${sink.url}?ignoreTLS=true`, PUBLIC_URL: 'http://mail.example' };
  service = await startTestService({ environment });
});

afterAll(async () => {
  await service.close();
  await sink.close();
});

const mailsTo = (email: string) => sink.mails.filter((mail) => mail.recipients.includes(email));

describe('a file becomes a mailing', () => {
  it('every valid address in it gets one mail, and every other row says why not', async () => {
    const csv = [
      'Email;Name',
      ' Ada@Example.COM ;Ada',
      'ada@example.com;Ada again',
      'not an address;Bob',
      'eve@mailinator.com;Eve',
      'too;many;cells',
      'grace@bücher.example;Grace',
    ].join('\r\n');
    const fields = { subject: 'Hello {{name}}', text: 'Dear {{Name}}, {{verifyUrl}}', from: 'Us <us@example.com>' };
    const answer = await uploadCsv(service.api, csv, { filename: 'first.csv', fields });
    expect(answer).toMatchObject({
      status: 202,
      body: { mailingId: expect.any(String), filename: 'first.csv', status: 'QUEUED', created: true },
      headers: { 'idempotent-replayed': 'false' },
    });
    const id = answer.body.mailingId;
    const mailing = await mailingWith(service.api, id, 'COMPLETED');
    expect(mailing).toMatchObject({
      id,
      filename: 'first.csv',
      subject: 'Hello {{name}}',
      totals: {
        lines: 6,
        entries: 5,
        invalid: 3,
        duplicates: 1,
        pending: 0,
        sent: 2,
        failed: 0,
        unknown: 0,
        suppressed: 0,
      },
    });
    expect(mailsTo('ada@example.com')).toHaveLength(1);
    const [mail] = mailsTo('grace@bücher.example');
    expect(mail?.headers.get('subject')).toBe('Hello Grace');
    expect(mail?.headers.get('message-id')).toBe(`<${id}.7@example.com>`);
    expect(mail?.text).toMatch(/^Dear Grace, http:\/\/mail\.example\/v\/[\w-]{22}\s*$/);
    const entries = await entriesOf(service.api, id);
    expect(entries.map(({ line, status, invalidReason }) => [line, status, invalidReason])).toEqual([
      [2, 'SENT', null],
      [4, 'INVALID', 'syntax'],
      [5, 'INVALID', 'disposable'],
      [6, 'INVALID', 'malformed_row'],
      [7, 'SENT', null],
    ]);
    expect(entries[0]).toMatchObject({
      email: 'ada@example.com',
      attempts: 1,
      externalId: expect.stringMatching(/queued/),
    });
    expect(entries[1]).toMatchObject({ email: 'not an address', text: 'not an address' });
  });

  it('without a text of its own it asks to confirm the address', async () => {
    const id = await newMailing(service.api, 'email\nplain@example.com\n');
    await mailingWith(service.api, id, 'COMPLETED');
    const [mail] = mailsTo('plain@example.com');
    expect(mail?.text).toMatch(/\/v\/[\w-]{22}/);
    expect(mail?.headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  });
});
