import { appendFile, mkdtemp, open as openFile, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, inject, it } from 'vitest';
import { listCaptured } from '../../../src/store/mail/captured-mails.ts';
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

const list = (limit = 50) => listCaptured(join(dataDir, 'mail'), { limit });
const open = () => openMailTransport({ MAIL_URL: undefined, MAIL_TIMEOUT_MS: 1_000, SEMEL_DATA_DIR: dataDir });

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
  const files = ['alert.1@localhost.eml', 'alert.2@localhost.eml'];
  expect((await readdir(join(dataDir, 'mail'))).sort()).toEqual([...files, 'list.ndjson']);
  expect((await list()).map(({ file }) => file)).toEqual(files.toReversed());
});

it('a mail sent again replaces its file and is listed once', async () => {
  const { externalId } = await open().send(message);
  await open().send({ ...message, text: 'another text' });
  expect(parseMail(await readFile(join(dataDir, 'mail', externalId))).text.trimEnd()).toBe('another text');
  expect(await list()).toHaveLength(1);
});

it('the list says what was captured and when, and only its owner may read it', async () => {
  const before = new Date().toISOString();
  await open().send({ ...message, subject: 'Ünusual "subject"' });
  expect(await list()).toEqual([
    {
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      messageId: message.messageId,
      to: 'ops@example.com',
      subject: 'Ünusual "subject"',
      file: 'alert.1@localhost.eml',
    },
  ]);
  const [listed] = await list();
  expect(listed?.at && listed.at >= before).toBe(true);
  expect((await stat(join(dataDir, 'mail', 'list.ndjson'))).mode & 0o777).toBe(0o600);
});

it('300 mails at once, from several transports, are a file and a whole line each', async () => {
  const transports = [open(), open(), open()];
  expect(transports[0]?.maxInHand).toBe(8);
  const ids = Array.from({ length: 300 }, (_, index) => `<bulk.${index}@localhost>`);
  await Promise.all(ids.map((messageId, index) => transports[index % 3]?.send({ ...message, messageId })));
  expect((await list(1_000)).map(({ messageId }) => messageId).sort()).toEqual(ids.toSorted());
  expect(await readdir(join(dataDir, 'mail'))).toHaveLength(301);
});

it('the newest come first, and no more than were asked for', async () => {
  const transport = open();
  for (let index = 0; index < 30; index += 1) await transport.send({ ...message, messageId: `<m.${index}@localhost>` });
  expect((await list(3)).map(({ file }) => file)).toEqual([
    'm.29@localhost.eml',
    'm.28@localhost.eml',
    'm.27@localhost.eml',
  ]);
  expect(await list(30)).toHaveLength(30);
  expect(await list(31)).toHaveLength(30);
  expect(await list(0)).toEqual([]);
});

it('lines of any length are found from the end, whole', async () => {
  const transport = open();
  const subjects = Array.from({ length: 20 }, (_, index) => `${index} ${'ü€'.repeat(index * 24)}`);
  for (const [index, subject] of subjects.entries()) {
    await transport.send({ ...message, subject, messageId: `<m.${index}@localhost>` });
  }
  for (const limit of [1, 2, 7, 19, 20]) {
    expect((await list(limit)).map(({ subject }) => subject)).toEqual(subjects.toReversed().slice(0, limit));
  }
});

it('only the end of a list is read, however long it is', async () => {
  const { externalId } = await open().send(message);
  const path = join(dataDir, 'mail', 'list.ndjson');
  const line = await readFile(path);
  // A hole of a terabyte before the last line: nobody could read all of it.
  const file = await openFile(path, 'r+');
  await file.truncate(2 ** 40);
  await file.close();
  await appendFile(path, `\n${line}`);
  expect(await list(1)).toMatchObject([{ file: externalId }]);
  expect(await list(100)).toMatchObject([{ file: externalId }]);
});

it('a line that is broken or still in the writing hides none of the others', async () => {
  await open().send(message);
  await appendFile(join(dataDir, 'mail', 'list.ndjson'), '{"at":"20\n[]\nnull\n{"at":1}\n');
  await open().send({ ...message, messageId: '<alert.2@localhost>' });
  await appendFile(join(dataDir, 'mail', 'list.ndjson'), '{"at":"2026');
  expect((await list()).map(({ messageId }) => messageId)).toEqual(['<alert.2@localhost>', '<alert.1@localhost>']);
});

it('nothing captured is an empty list', async () => {
  expect(await list()).toEqual([]);
});

it('close() waits for what is in hand, and what comes later is refused', async () => {
  const transport = open();
  const inHand = Array.from({ length: 20 }, (_, index) =>
    transport.send({ ...message, messageId: `<m.${index}@localhost>` }),
  );
  await transport.close();
  expect(await list()).toHaveLength(20);
  await Promise.all(inHand);
  await expect(transport.send(message)).rejects.toMatchObject({ name: 'MailError', outcome: 'not_sent' });
});

it('a mail that cannot be composed leaves no file', async () => {
  const hostile = open().send({ ...message, subject: 'a\nb' });
  await expect(hostile).rejects.toMatchObject({ outcome: 'not_sent', stage: 'compose' });
  expect(await readdir(dataDir)).toEqual([]);
});

it('a folder that cannot be written is a certain "not sent"', async () => {
  const transport = openMailTransport({ MAIL_URL: undefined, MAIL_TIMEOUT_MS: 1_000, SEMEL_DATA_DIR: '/dev/null' });
  await expect(transport.send(message)).rejects.toMatchObject({ name: 'MailError', outcome: 'not_sent' });
});
