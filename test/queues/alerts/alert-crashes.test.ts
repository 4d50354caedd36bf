import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { MailTransport } from '../../../src/store/mail/mail-transport.ts';
import { type SmtpSink, startSmtpSink } from '../../store/mail/smtp-sink.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestDatabase, openTestStores, type TestStores } from '../../support/service.ts';
import { root } from '../../support/sources.ts';
import { failOperations, listAlerts, mailerFor, queueAll } from './alerts.ts';

let stores: TestStores;
let sink: SmtpSink;

beforeAll(async () => {
  stores = await openTestStores();
});

afterAll(async () => {
  await stores.close();
});

beforeEach(async () => {
  await stores.db.deleteFrom('alerts').execute();
  sink = await startSmtpSink();
});

afterEach(async () => {
  await sink.close();
});

const messageIds = () => sink.mails.map((mail) => mail.headers.get('message-id'));
const endLease = () => sql`update alerts set next_attempt_at = now() where message_id is not null`.execute(stores.db);

/** A mailer that is gone: it never comes back from the mail server. */
const goneBefore: Pick<MailTransport, 'send'> = { send: () => new Promise(() => undefined) };

it('a mailer killed before it sent leaves a mail that another one sends when the lease is over', async () => {
  await queueAll(stores.db, failOperations(2));
  void mailerFor(stores.db, goneBefore).runOnce();
  const [claimed] = await eventually(async () => {
    const alerts = await listAlerts(stores.db);
    expect(alerts.map((alert) => alert.status)).toEqual(['SENDING', 'SENDING']);
    return alerts;
  });
  const other = mailerFor(stores.db, sink.url);
  expect(await other.runOnce()).toBe(0);
  await endLease();
  expect(await other.runOnce()).toBe(2);
  expect(messageIds()).toEqual([claimed?.message_id]);
});

it('a process killed after the server took the mail leads to the same mail with the same Message-ID', async () => {
  await queueAll(stores.db, failOperations(3));
  const script = join(root, 'test/queues/alerts/mailer-process.ts');
  const killed = spawn(process.execPath, ['--import', 'tsx', script, stores.environment.DATABASE_URL ?? '', sink.url]);
  sink.beforeReply = () => void killed.kill('SIGKILL');
  expect(await once(killed, 'exit')).toEqual([null, 'SIGKILL']);
  await eventually(() => expect(sink.mails).toHaveLength(1));
  sink.beforeReply = () => undefined;
  await queueAll(stores.db, failOperations(1));
  expect(await mailerFor(stores.db, sink.url).runOnce()).toBe(0);
  await endLease();
  expect(await mailerFor(stores.db, sink.url).runOnce()).toBe(3);
  expect(await mailerFor(stores.db, sink.url).runOnce()).toBe(1);
  expect(sink.mails).toHaveLength(3);
  const [first, again, next] = sink.mails;
  expect(again?.headers.get('message-id')).toBe(first?.headers.get('message-id'));
  expect(again?.text).toBe(first?.text);
  // What failed meanwhile is another mail.
  expect(next?.headers.get('message-id')).not.toBe(first?.headers.get('message-id'));
  expect(next?.headers.get('subject')).toBe('1 operation failed');
});

it('of many mailers that find a dead one’s mail, one sends it', async () => {
  const mailers = Array.from({ length: 5 }, () => mailerFor(stores.db, sink.url));
  for (let round = 1; round <= 10; round += 1) {
    await queueAll(stores.db, failOperations(20));
    void mailerFor(stores.db, goneBefore).runOnce();
    await eventually(async () => {
      expect((await listAlerts(stores.db)).filter((alert) => alert.status === 'SENDING')).toHaveLength(20);
    });
    await endLease();
    const told = await Promise.all(mailers.map((mailer) => mailer.runOnce()));
    expect(told.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 0, 20]);
  }
  expect(new Set(messageIds()).size).toBe(10);
  expect(sink.mails).toHaveLength(10);
});

it('a connection lost between the mail and the reply leads to the same Message-ID again', async () => {
  await queueAll(stores.db, failOperations(2));
  sink.refusals.push({ at: 'data', cut: true });
  const mailer = mailerFor(stores.db, sink.url);
  expect(await mailer.runOnce()).toBe(0);
  const [unknown] = await listAlerts(stores.db);
  expect(unknown?.status).toBe('SENDING');
  await eventually(async () => expect(await mailer.runOnce()).toBe(2));
  expect(messageIds()).toEqual([unknown?.message_id]);
});

it('a mailer that wakes up after its lease does not undo what another one did', async () => {
  await queueAll(stores.db, failOperations(1));
  let wake: (error: Error) => void = () => undefined;
  const asleep: Pick<MailTransport, 'send'> = {
    send: () =>
      new Promise((_, reject) => {
        wake = reject;
      }),
  };
  const late = mailerFor(stores.db, asleep).runOnce();
  await eventually(async () => expect((await listAlerts(stores.db))[0]?.status).toBe('SENDING'));
  await endLease();
  void mailerFor(stores.db, goneBefore).runOnce();
  const before = await eventually(async () => {
    const alerts = await listAlerts(stores.db);
    expect(alerts[0]?.attempts).toBe(2);
    return alerts;
  });
  wake(new Error('woke up'));
  expect(await late).toBe(0);
  expect(await listAlerts(stores.db)).toEqual(before);
});

it('Postgres away after the mail was sent loses nothing: the mail comes again', async () => {
  await queueAll(stores.db, failOperations(1));
  const db = openTestDatabase(stores.environment.DATABASE_URL ?? '');
  sink.beforeReply = () => db.destroy();
  await expect(mailerFor(db, sink.url).runOnce()).rejects.toThrow();
  sink.beforeReply = () => undefined;
  await endLease();
  expect(await mailerFor(stores.db, sink.url).runOnce()).toBe(1);
  expect(new Set(messageIds()).size).toBe(1);
  expect(sink.mails).toHaveLength(2);
});
