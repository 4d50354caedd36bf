import { mkdtemp, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, inject, it } from 'vitest';
import { openMailTransport } from '../../../src/store/mail/mail-transport.ts';
import { parseMail } from './parse-mail.ts';

const message = {
  from: 'Semel <no-reply@localhost>',
  to: 'ops@example.com',
  subject: '1 operation failed',
  text: 'What happened: ünknown\n',
  messageId: '<alert.1@localhost>',
};

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(inject('runDir'), 'mail-'));
});

const open = () => openMailTransport({ MAIL_URL: undefined, SEMEL_DATA_DIR: dataDir });

it('a captured mail is a file that can be parsed and that only its owner may read', async () => {
  const { externalId } = await open().send(message);
  const path = join(dataDir, 'mail', externalId);
  expect(externalId).toMatch(/\.eml$/);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(dataDir, 'mail'))).mode & 0o777).toBe(0o700);
  const { headers, text } = parseMail(await readFile(path));
  expect(text.trimEnd()).toBe('What happened: ünknown');
  expect(Object.fromEntries(headers)).toMatchObject({
    from: 'Semel <no-reply@localhost>',
    to: 'ops@example.com',
    subject: '1 operation failed',
    'message-id': '<alert.1@localhost>',
    date: expect.stringMatching(/\d{4} \d\d:\d\d:\d\d/),
  });
});

it('the same mail sent again is one file, and no draft is left', async () => {
  await Promise.all([open().send(message), open().send(message), open().send(message)]);
  await open().send({ ...message, messageId: '<alert.2@localhost>' });
  expect((await readdir(join(dataDir, 'mail'))).sort()).toEqual(['alert.1@localhost.eml', 'alert.2@localhost.eml']);
});

it('a folder that cannot be written is a certain "not sent"', async () => {
  const transport = openMailTransport({ MAIL_URL: undefined, SEMEL_DATA_DIR: '/dev/null' });
  await expect(transport.send(message)).rejects.toMatchObject({ name: 'MailError', outcome: 'not_sent' });
});
