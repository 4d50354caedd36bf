import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../store/mail/smtp-sink.ts';
import { csvOf, entriesOf, mailingWith, newMailing, uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';

let sink: SmtpSink;
let service: TestService;

beforeAll(async () => {
  sink = await startSmtpSink();
  service = await startTestService({ environment: { MAIL_URL: `${sink.url}?ignoreTLS=true` } });
});

afterAll(async () => {
  await service.close();
  await sink.close();
});

const upload = (fields: Record<string, string>, more: { filename?: string } = {}) =>
  uploadCsv(service.api, csvOf(1), { fields, ...more });
const keptFiles = async () => {
  const folder = join(service.environment.SEMEL_DATA_DIR ?? '', 'files', 'mailings');
  return existsSync(folder) ? (await readdir(folder)).length : 0;
};

describe('what could begin another header', () => {
  it.each([
    ['subject', 'Hello\r\nBcc: victim@example.com'],
    ['subject', 'Hello\nBcc: victim@example.com'],
    ['subject', 'Hello\u2028there'],
    ['from', 'Us <us@example.com>\r\nBcc: victim@example.com'],
    ['from', 'Us\r\nBcc: victim@example.com <us@example.com>'],
    ['from', 'us@example.com, them@example.com'],
  ])('is refused in %s: %j', async (name, value) => {
    const kept = await keptFiles();
    const answer = await upload({ [name]: value });
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(answer.body.errors[0].path).toBe(name);
    expect(await keptFiles()).toBe(kept);
  });

  it.each(['a\r\nX-Evil: 1.csv', 'a\u0000.csv', '../a.csv', 'a\\b.csv', ''])(
    'is refused in the name of the file: %j',
    async (filename) => {
      const query = `filename=${encodeURIComponent(filename)}`;
      const answer = await uploadCsv(service.api, csvOf(1), { fields: { subject: 'x' }, query });
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    },
  );

  it('makes a row INVALID if it is in a column that the subject uses; in the text it is only text', async () => {
    const csv = 'email,name\nbad@example.com,"Eve\r\nBcc: victim@example.com"\ngood@example.com,Ada\n';
    const id = await newMailing(service.api, csv, { fields: { subject: 'Dear {{name}}', text: '{{name}}' } });
    await mailingWith(service.api, id, 'COMPLETED');
    expect(await entriesOf(service.api, id)).toMatchObject([
      {
        line: 2,
        status: 'INVALID',
        invalidReason: 'malformed_row',
        lastError: expect.stringMatching(/subject uses name/),
      },
      { status: 'SENT' },
    ]);
    const inText = await newMailing(service.api, csv, { fields: { subject: 'Hello', text: 'Dear {{name}}' } });
    expect((await mailingWith(service.api, inText, 'COMPLETED')).totals).toMatchObject({ sent: 2 });
    const mails = sink.mails.filter((mail) => mail.recipients.includes('bad@example.com'));
    expect(mails).toHaveLength(1);
    expect(mails[0]?.headers.has('bcc')).toBe(false);
    expect(mails[0]?.text).toContain('Eve\nBcc: victim@example.com');
    expect(sink.mails.flatMap((mail) => mail.recipients)).not.toContain('victim@example.com');
  });
});

describe('a form', () => {
  it.each([
    [{ sbject: 'x' }, 'sbject'],
    [{ subject: '' }, 'subject'],
    [{ ratePerSecond: '0' }, 'ratePerSecond'],
    [{ ratePerSecond: '10001' }, 'ratePerSecond'],
    [{ ratePerSecond: '1e3' }, 'ratePerSecond'],
    [{ from: 'nobody' }, 'from'],
    [{ text: 'x'.repeat(500_001) }, 'text'],
  ])('with %j says which field is wrong, and nothing is kept', async (fields, path) => {
    const kept = await keptFiles();
    const answer = await upload(fields as Record<string, string>);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', errors: [{ path }] } });
    expect(await keptFiles()).toBe(kept);
  });

  it.each([
    ['no file', '--B\r\nContent-Disposition: form-data; name="subject"\r\n\r\nx\r\n--B--\r\n', /file is missing/],
    ['a field after the file', `${filePart('a.csv')}${fieldPart('subject')}--B--\r\n`, /must come before the file/],
    ['a field twice', `${fieldPart('subject')}${fieldPart('subject')}${filePart('a.csv')}--B--\r\n`, /is there twice/],
    ['two files', `${filePart('a.csv')}${filePart('b.csv')}--B--\r\n`, /is there twice/],
    ['a file of another name', filePart('a.csv').replace('"file"', '"csv"').concat('--B--\r\n'), /not a known field/],
    ['no end', filePart('a.csv'), /not valid multipart/],
    ['nothing in it', '', /multipart|missing/],
  ])('with %s is refused, and nothing is kept', async (_, body, detail) => {
    const kept = await keptFiles();
    const headers = { 'content-type': 'multipart/form-data; boundary=B' };
    const answer = await service.api.send('POST', '/v1/mailings', body, { headers });
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(answer.body.detail).toMatch(detail);
    expect(await keptFiles()).toBe(kept);
  });

  it('of another kind is not read at all', async () => {
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
      const answer = await service.api.send('POST', '/v1/mailings?filename=a.csv', 'email\n', {
        headers: { 'content-type': type },
      });
      expect(answer.status, type).toBe(415);
    }
  });
});

it('a preview shows one row as it will be mailed, and an HTML value cannot break out', async () => {
  const fields = { subject: 'For {{name}}', html: '<p title="{{name}}">{{name}}</p>', ratePerSecond: '1' };
  const id = await newMailing(service.api, `email,name\nx,none\na@example.com,Ada\nb@example.com,"<b>""'&"\n`, {
    fields,
  });
  await mailingWith(service.api, id, 'SENDING');
  const preview = (query: string) => service.api.get(`/v1/mailings/${id}/preview${query}`);
  expect((await preview('')).body).toMatchObject({ to: 'a@example.com', subject: 'For Ada' });
  const { body } = await preview('?line=4');
  expect(body).toMatchObject({ to: 'b@example.com', subject: `For <b>"'&` });
  expect(body.html).toBe('<p title="&lt;b&gt;&quot;&#39;&amp;">&lt;b&gt;&quot;&#39;&amp;</p>');
  expect((await preview('?line=99')).status).toBe(404);
  expect((await preview('?line=x')).status).toBe(400);
  await service.api.post(`/v1/mailings/${id}/cancel`, {});
});

function fieldPart(name: string): string {
  return `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nx\r\n`;
}

function filePart(filename: string): string {
  return `--B\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n${csvOf(1)}\r\n`;
}
