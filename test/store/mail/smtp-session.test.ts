import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MailTransport } from '../../../src/store/mail/mail-transport.ts';
import { openSmtpTransport } from '../../../src/store/mail/smtp-transport.ts';
import { messageId, numberedMail, oneMail } from './numbered-mails.ts';
import { type ScriptedSmtpServer, type Step, startScriptedSmtpServer } from './scripted-smtp-server.ts';

describe.each([{ pipelining: true }, { pipelining: false }])('pipelining: $pipelining', (options) => {
  let server: ScriptedSmtpServer;
  let transport: MailTransport;

  beforeEach(async () => {
    server = await startScriptedSmtpServer(options);
    transport = openTransport();
  });

  afterEach(async () => {
    await server.close();
    await transport.close();
  });

  const openTransport = (timeoutMs = 10_000) => openSmtpTransport(server.url, { timeoutMs, maxConnections: 1 });
  const send = (index: number, text = 'text') => transport.send(numberedMail(index, text));
  /** After the greeting and the capabilities. */
  const stepsOf = (number: number) => server.connections[number - 1]?.steps.slice(2);

  /** The server misbehaves once, at this step of the mail that comes then. */
  const answerOnce = (at: Step, answer: string) => {
    server.answer = (step) => {
      if (step !== at) return undefined;
      server.answer = () => undefined;
      return answer;
    };
  };

  it('an idle connection cut by the server at the next mail is replaced once, and not twice', async () => {
    await send(0);
    server.answer = (step) => (step === 'mail' ? 'cut' : undefined);
    await expect(send(1)).rejects.toMatchObject({ outcome: 'not_sent', stage: 'connect', responseCode: undefined });
    expect(server.connections).toHaveLength(2);
    answerOnce('mail', 'cut');
    await expect(send(2)).rejects.toMatchObject({ outcome: 'not_sent' });
    await send(3);
    answerOnce('mail', 'cut');
    await send(4);
    expect(server.taken).toEqual([0, 3, 4].map(messageId));
  });

  it('a connection lost after the server has answered is not tried again', async () => {
    await send(0);
    // With pipelining the client does not wait for it, but it hears it all the same.
    answerOnce('data', 'cut');
    await expect(send(1)).rejects.toMatchObject({ outcome: 'not_sent', stage: 'connect' });
    expect(server.connections).toHaveLength(1);
  });

  it.each([0, 1])(
    'a connection lost after the mail leaves it unknown and unrepeated, after %i others',
    async (others) => {
      if (others) await send(0);
      answerOnce('content', 'cut');
      await expect(send(1)).rejects.toMatchObject({ outcome: 'unknown', stage: 'data', responseCode: undefined });
      await send(2);
      expect(server.seen.filter((id) => id === messageId(1))).toHaveLength(1);
      expect(server.taken).toEqual([...(others ? [messageId(0)] : []), messageId(2)]);
    },
  );

  it.each([0, 1])(
    'silence after the mail is unknown in time, and the place is free, after %i others',
    async (others) => {
      transport = openTransport(300);
      if (others) await send(0);
      answerOnce('content', 'hang');
      const [silent, next] = await Promise.allSettled([send(1), send(2)]);
      expect(silent).toMatchObject({ reason: { outcome: 'unknown', stage: 'data' } });
      expect(next).toMatchObject({ status: 'fulfilled' });
      expect(server.seen.filter((id) => id === messageId(1))).toHaveLength(1);
      expect(server.maxOpen).toBe(1);
    },
  );

  it.each(['mail', 'rcpt', 'data'] as const)('silence at %s is "not sent" in time, and stays so', async (at) => {
    transport = openTransport(300);
    await send(0);
    answerOnce(at, 'hang');
    await expect(send(1)).rejects.toMatchObject({ outcome: 'not_sent', stage: 'connect', responseCode: undefined });
    await send(2);
    await transport.close();
    expect(server.seen).toEqual([0, 2].map(messageId));
    expect(server.connections).toHaveLength(2);
  });

  it.each([
    { at: 'mail', code: 450 },
    { at: 'mail', code: 550 },
    { at: 'rcpt', code: 450 },
    { at: 'rcpt', code: 550 },
    { at: 'data', code: 451 },
  ] as const)('after a refusal ($code at $at) the same connection is used on after RSET', async ({ at, code }) => {
    answerOnce(at, `${code} no`);
    await expect(send(0)).rejects.toMatchObject({ outcome: 'not_sent', stage: at, responseCode: code });
    await send(1);
    expect(server.connections).toHaveLength(1);
    expect(stepsOf(1)?.slice(-5)).toEqual(['rset', ...oneMail]);
    expect(server.taken).toEqual([messageId(1)]);
  });

  it.each([452, 554])('after a refusal of the mail itself (%i) the same connection is used on', async (code) => {
    answerOnce('content', `${code} no`);
    await expect(send(0)).rejects.toMatchObject({ outcome: 'not_sent', stage: 'data', responseCode: code });
    await send(1);
    expect(server.connections).toHaveLength(1);
    expect(stepsOf(1)).toEqual([...oneMail, 'rset', ...oneMail]);
  });

  it.each(['500 no', 'cut', '421 leaving'])(
    'a server that does not forget (%s) gets another connection',
    async (answer) => {
      server.answer = (step, { number }) => {
        if (number > 1) return undefined;
        return step === 'rset' ? answer : step === 'content' ? '554 no' : undefined;
      };
      await expect(send(0)).rejects.toMatchObject({ outcome: 'not_sent', responseCode: 554 });
      await send(1);
      expect(server.connections).toHaveLength(2);
      expect(server.maxOpen).toBe(1);
    },
  );

  it.each(['mail', 'rcpt', 'data', 'content'] as const)('421 at %s is "not sent", and closes', async (at) => {
    await send(0);
    answerOnce(at, '421 shutting down');
    const stage = at === 'content' ? 'data' : 'connect';
    await expect(send(1)).rejects.toMatchObject({ outcome: 'not_sent', stage, responseCode: 421 });
    await send(2);
    expect(server.taken).toEqual([0, 2].map(messageId));
    expect(stepsOf(1)).not.toContain('rset');
    expect(server.connections).toHaveLength(2);
  });

  it('a server that refuses half a mail cannot read the other half as commands', async () => {
    server.answer = (step, { number }) => (step === 'data' && number === 1 ? '354 go on\r\n552 enough' : undefined);
    // More than fits into any buffer on the way, so that most of it is still here when the refusal comes.
    await expect(send(0, 'long line\n'.repeat(1_500_000))).rejects.toMatchObject({ stage: 'data', responseCode: 552 });
    await send(1);
    await transport.close();
    expect(server.seen).toEqual([messageId(1)]);
    expect(stepsOf(1)).toEqual(['mail', 'rcpt', 'data']);
  });
});
