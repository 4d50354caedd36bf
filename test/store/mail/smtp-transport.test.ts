import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openMailTransport } from '../../../src/store/mail/mail-transport.ts';
import { openSmtpTransport } from '../../../src/store/mail/smtp-transport.ts';
import { type Refusal, type SmtpSink, startSmtpSink } from './smtp-sink.ts';

let sink: SmtpSink;

beforeEach(async () => {
  sink = await startSmtpSink();
});

afterEach(async () => {
  await sink.close();
});

const message = {
  from: 'Zoë of Semel <semel@example.com>',
  to: 'ops@example.com',
  subject: 'Ünusual subject',
  text: 'One line\n.\nand a döt alone\n',
  messageId: '<one.1@example.com>',
};
const send = (url = sink.url, timeoutMs = 10_000) => openSmtpTransport(url, { timeoutMs }).send(message);

it('a mail arrives as it was written, and the server’s id comes back', async () => {
  expect(await send()).toEqual({ externalId: 'queued as 1' });
  expect(sink.mails).toHaveLength(1);
  const [mail] = sink.mails;
  expect(mail?.recipients).toEqual(['ops@example.com']);
  expect(mail?.text.trimEnd()).toBe(message.text.trimEnd());
  expect(Object.fromEntries(mail?.headers ?? [])).toMatchObject({
    'message-id': '<one.1@example.com>',
    to: 'ops@example.com',
    subject: expect.stringMatching(/^=\?UTF-8\?/),
    from: expect.stringMatching(/<semel@example\.com>$/),
    'auto-submitted': 'auto-generated',
  });
});

it('a mail of any size arrives whole, and the next one goes over the same connection', async () => {
  const transport = openSmtpTransport(sink.url, { timeoutMs: 10_000 });
  // Around what a socket takes at once, with as many dots to escape as there can be.
  const texts = [1, 2_000, 2_730, 4_000, 5_461, 20_000, 300_000].map((lines) => '.\n'.repeat(lines).trimEnd());
  for (const text of texts) await transport.send({ ...message, text });
  await transport.close();
  expect(sink.mails.map((mail) => mail.text.trimEnd() === texts.shift())).toEqual(Array(7).fill(true));
});

const certain: Extract<Refusal, { code: number }>[] = [
  { at: 'connect', code: 421 },
  { at: 'connect', code: 554 },
  { at: 'mail', code: 451 },
  { at: 'rcpt', code: 450 },
  { at: 'rcpt', code: 550 },
  { at: 'data', code: 452 },
  { at: 'data', code: 554 },
];

it.each(certain)('a refusal (%o) is a certain "not sent", and the error names no address', async (refusal) => {
  sink.refusals.push(refusal);
  const error = await send().catch((thrown: unknown) => thrown);
  // The stage tells a refused recipient from a refused sender or connection.
  const { at: stage, code: responseCode } = refusal;
  expect(error).toMatchObject({ name: 'MailError', outcome: 'not_sent', stage, responseCode });
  expect(String(error)).not.toContain('test@example.com');
  expect(sink.mails).toEqual([]);
});

it.each(['connect', 'mail', 'rcpt'] as const)('a connection lost at %s is a certain "not sent"', async (at) => {
  sink.refusals.push({ at, cut: true });
  await expect(send()).rejects.toMatchObject({ outcome: 'not_sent', stage: 'connect' });
});

it('a connection lost between the mail and the reply leaves the outcome unknown', async () => {
  sink.refusals.push({ at: 'data', cut: true });
  await expect(send()).rejects.toMatchObject({ outcome: 'unknown', stage: 'data', responseCode: undefined });
});

it('a server that never replies to the mail leaves the outcome unknown, in time', async () => {
  sink.beforeReply = () => new Promise(() => undefined);
  await expect(send(sink.url, 300)).rejects.toMatchObject({ outcome: 'unknown', stage: 'data' });
});

it('a server that never greets is given up in time, and nothing was sent', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  await expect(send(`smtp://127.0.0.1:${port}`, 300)).rejects.toMatchObject({ outcome: 'not_sent' });
  silent.close();
});

it('nobody at the address is a certain "not sent"', async () => {
  await sink.close();
  await expect(send()).rejects.toMatchObject({ outcome: 'not_sent', stage: 'connect' });
});

it('a mail that cannot be composed reaches no server', async () => {
  const transport = openSmtpTransport(sink.url, { timeoutMs: 10_000 });
  const hostile = transport.send({ ...message, to: 'ops@example.com\r\nBcc: victim@example.com' });
  await expect(hostile).rejects.toMatchObject({ outcome: 'not_sent', stage: 'compose' });
  expect(sink.mails).toEqual([]);
});

it('a mailing arrives with both of its parts and a way out', async () => {
  const unsubscribeUrl = 'https://lists.example/u/1';
  const transport = openMailTransport(
    { MAIL_URL: sink.url, MAIL_TIMEOUT_MS: 20_000, SEMEL_DATA_DIR: '/nowhere' },
    { maxConnections: 7 },
  );
  expect(transport.maxInHand).toBe(7);
  await transport.send({ ...message, html: '<p>Zoë</p>', unsubscribeUrl });
  await transport.close();
  expect(sink.mails[0]).toMatchObject({ text: message.text, html: '<p>Zoë</p>' });
  expect(sink.mails[0]?.headers.get('list-unsubscribe')).toBe(`<${unsubscribeUrl}>`);
});

it('credentials that the server does not want are not dropped in silence', async () => {
  await expect(send(sink.url.replace('//', '//user:secret@'))).rejects.toMatchObject({ outcome: 'not_sent' });
  expect(sink.mails).toEqual([]);
});

it('credentials of the URL log in, and wrong ones are a certain "not sent"', async () => {
  await sink.close();
  const onAuth: SMTPServerOptions['onAuth'] = ({ username, password }, _session, done) =>
    username === 'semel' && password === 'p@ss' ? done(null, { user: username }) : done(new Error('wrong'));
  sink = await startSmtpSink({ more: { disabledCommands: ['STARTTLS'], onAuth } });
  await expect(send()).rejects.toMatchObject({ outcome: 'not_sent', responseCode: 530 });
  await expect(send(sink.url.replace('//', '//semel:wrong@'))).rejects.toMatchObject({
    responseCode: 535,
    stage: 'connect',
  });
  await send(sink.url.replace('//', '//semel:p%40ss@'));
  expect(sink.mails).toHaveLength(1);
});

it('a server that offers TLS with a certificate nobody vouches for gets nothing', async () => {
  await sink.close();
  sink = await startSmtpSink({ more: { disabledCommands: ['AUTH'] } });
  await expect(send()).rejects.toMatchObject({ outcome: 'not_sent' });
  expect(sink.mails).toEqual([]);
  await send(`${sink.url}?tls.rejectUnauthorized=false`);
  expect(sink.mails).toHaveLength(1);
});
