import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MailTransport } from '../../../src/store/mail/mail-transport.ts';
import { openSmtpTransport } from '../../../src/store/mail/smtp-transport.ts';
import { eventually } from '../../support/eventually.ts';
import { root } from '../../support/sources.ts';
import { messageId, messageIds, numberedMail, oneMail } from './numbered-mails.ts';
import { type ScriptedSmtpServer, startScriptedSmtpServer } from './scripted-smtp-server.ts';

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

  const openTransport = (maxConnections = 1, timeoutMs = 10_000, url = server.url) =>
    openSmtpTransport(url, { timeoutMs, maxConnections });
  const send = (index: number) => transport.send(numberedMail(index));
  /** After the greeting and the capabilities. */
  const stepsOf = (number: number) => server.connections[number - 1]?.steps.slice(2);

  it('200 mails at once over 5 connections arrive once each, and never over more', async () => {
    transport = openTransport(5);
    expect(transport.maxInHand).toBe(5);
    await Promise.all(messageIds(200).map((_, index) => send(index)));
    expect(server.taken.toSorted()).toEqual(messageIds(200).toSorted());
    expect(server.seen).toHaveLength(200);
    expect(server.maxOpen).toBe(5);
    expect(server.connections).toHaveLength(5);
  });

  it('those who wait are served in the order in which they came', async () => {
    await Promise.all(messageIds(50).map((_, index) => send(index)));
    expect(server.taken).toEqual(messageIds(50));
  });

  it('a connection logs in once and carries many mails, one after the other', async () => {
    transport = openTransport(1, 10_000, server.url.replace('//', '//user:secret@'));
    for (let index = 0; index < 10; index += 1) await send(index);
    expect(server.connections).toHaveLength(1);
    expect(server.connections[0]?.steps).toEqual(['greet', 'ehlo', 'auth', ...Array(10).fill(oneMail).flat()]);
  });

  it('after 100 mails a connection takes leave, and the next one is opened only then', async () => {
    await Promise.all(messageIds(250).map((_, index) => send(index)));
    expect(server.taken).toEqual(messageIds(250));
    expect(server.maxOpen).toBe(1);
    expect(server.connections.map(({ steps }) => steps.filter((step) => step === 'content').length)).toEqual([
      100, 100, 50,
    ]);
    expect(server.connections.map(({ steps }) => steps.at(-1))).toEqual(['quit', 'quit', 'content']);
  });

  it.each(['end', 'destroy'] as const)('a server that closes (%s) after each mail gets each mail once', async (way) => {
    transport = openTransport(3);
    server.answer = (step, { socket }) => {
      if (step === 'content') setImmediate(() => socket[way]());
      return undefined;
    };
    for (let index = 0; index < 10; index += 1) await send(index);
    await Promise.all(messageIds(60).map((_, index) => send(index + 10)));
    expect(server.taken.toSorted()).toEqual(messageIds(70).toSorted());
    expect(server.seen).toHaveLength(70);
    expect(server.maxOpen).toBeLessThanOrEqual(3);
  });

  it.each(['end', 'destroy'] as const)('a connection closed (%s) while idle is replaced unnoticed', async (way) => {
    await send(0);
    const [first] = server.connections;
    first?.socket[way]();
    await send(1);
    await eventually(() => expect(first?.socket.destroyed).toBe(true));
    await send(2);
    expect(server.taken).toEqual(messageIds(3));
    expect(server.connections).toHaveLength(2);
  });

  it('the time in the line is not the server’s: each conversation has all of its own', async () => {
    transport = openTransport(1, 600);
    server.answer = async (step) => {
      if (step === 'content') await new Promise((resolve) => setTimeout(resolve, 200));
      return undefined;
    };
    await Promise.all(messageIds(5).map((_, index) => send(index)));
    expect(server.taken).toEqual(messageIds(5));
  });

  it('close() waits for what is in hand, refuses the line and what comes later, and takes leave', async () => {
    let finish: (answer: undefined) => void = () => undefined;
    const held = new Promise<undefined>((resolve) => {
      finish = resolve;
    });
    server.answer = (step) => (step === 'content' ? held : undefined);
    const inHand = send(0);
    await eventually(() => expect(server.seen).toHaveLength(1));
    const inLine = send(1);
    let isClosed = false;
    const closed = transport.close().then(() => {
      isClosed = true;
    });
    await expect(inLine).rejects.toMatchObject({ name: 'MailError', outcome: 'not_sent' });
    await expect(send(2)).rejects.toMatchObject({ name: 'MailError', outcome: 'not_sent' });
    expect(isClosed).toBe(false);
    finish(undefined);
    await expect(inHand).resolves.toEqual({ externalId: 'queued' });
    await closed;
    expect(server.taken).toEqual([messageId(0)]);
    expect(stepsOf(1)).toEqual([...oneMail, 'quit']);
  });

  it('close() takes leave of idle connections, and may be called twice', async () => {
    transport = openTransport(3);
    await Promise.all([send(0), send(1), send(2)]);
    await Promise.all([transport.close(), transport.close()]);
    expect(server.connections.map(({ steps }) => steps.at(-1))).toEqual(['quit', 'quit', 'quit']);
  });

  it('a connection that lies idle for five seconds takes leave, and then the next mail has a new one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await send(0);
      vi.advanceTimersByTime(4_999);
      expect(stepsOf(1)).toEqual(oneMail);
      await send(1);
      vi.advanceTimersByTime(5_000);
      await send(2);
    } finally {
      vi.useRealTimers();
    }
    expect(stepsOf(1)).toEqual([...oneMail, ...oneMail, 'quit']);
    expect(stepsOf(2)).toEqual(oneMail);
    expect(server.maxOpen).toBe(1);
  });

  it('the place of a connection that takes leave is free when it has left, and a second later at most', async () => {
    server.answer = (step) => (step === 'quit' ? 'hang' : undefined);
    await Promise.all(messageIds(101).map((_, index) => send(index)));
    expect(server.connections).toHaveLength(2);
    expect(server.maxOpen).toBe(1);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await send(101);
      vi.advanceTimersByTime(5_000);
      const next = send(102);
      await vi.waitFor(() => expect(stepsOf(2)?.at(-1)).toBe('quit'));
      vi.advanceTimersByTime(1_000);
      await next;
    } finally {
      vi.useRealTimers();
    }
    expect(server.connections).toHaveLength(3);
    expect(server.maxOpen).toBe(1);
  });

  it('an idle connection does not keep the process alive', async () => {
    const script = join(root, 'test/store/mail/send-once-process.ts');
    const child = spawn(process.execPath, ['--import', 'tsx', script, server.url], { cwd: root, stdio: 'inherit' });
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(server.taken).toHaveLength(1);
    // A process that lived until the idle connection was given up would have taken leave.
    expect(stepsOf(1)).toEqual(oneMail);
  });
});
