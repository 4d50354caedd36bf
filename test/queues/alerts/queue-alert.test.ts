import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { queueAlert } from '../../../src/queues/alerts/queue-alert.ts';
import type { MailMessage, MailTransport } from '../../../src/store/mail/mail-transport.ts';
import { openTestStores, type TestStores } from '../../support/service.ts';
import { failOperations, listAlerts, mailerFor, operator, queueAll } from './alerts.ts';

let stores: TestStores;
let sent: MailMessage[];

beforeAll(async () => {
  stores = await openTestStores();
});

afterAll(async () => {
  await stores.close();
});

beforeEach(async () => {
  await stores.db.deleteFrom('alerts').execute();
  sent = [];
});

const transport: Pick<MailTransport, 'send'> = {
  send: async (message) => {
    sent.push(message);
    return { externalId: 'kept' };
  },
};

it('the same event many times is one alert and one mail, also after it was sent', async () => {
  const [event] = failOperations(1);
  if (!event) throw new Error('no event');
  await Promise.all(Array.from({ length: 10 }, () => queueAlert(stores.db, event, operator)));
  expect(await mailerFor(stores.db, transport).runOnce()).toBe(1);
  await queueAlert(stores.db, event, operator);
  expect(await mailerFor(stores.db, transport).runOnce()).toBe(0);
  expect(sent).toHaveLength(1);
});

it('without an operator nothing is queued, and nothing is sent of what is', async () => {
  const [first, second] = failOperations(2);
  if (!first || !second) throw new Error('no events');
  await queueAlert(stores.db, first, undefined);
  expect(await listAlerts(stores.db)).toEqual([]);
  await queueAlert(stores.db, second, operator);
  expect(await mailerFor(stores.db, transport, {}, { to: undefined }).runOnce()).toBe(0);
  expect(sent).toEqual([]);
  expect(await listAlerts(stores.db)).toMatchObject([{ event_id: second.id, status: 'PENDING' }]);
});

it('other events are nobody’s alarm', async () => {
  const [event] = failOperations(1);
  if (!event) throw new Error('no event');
  await queueAlert(stores.db, { ...event, type: 'transfer.completed' }, operator);
  expect(await listAlerts(stores.db)).toEqual([]);
});

it('a transaction that is rolled back queues nothing', async () => {
  const work = stores.db.transaction().execute(async (tx) => {
    await queueAll(tx, failOperations(2));
    throw new Error('rolled back');
  });
  await expect(work).rejects.toThrow('rolled back');
  expect(await listAlerts(stores.db)).toEqual([]);
});

it('an event with data that nobody expects is told all the same', async () => {
  const strange = [null, 'text', {}, { operation: 7, code: ['x'] }];
  await queueAll(
    stores.db,
    failOperations(strange.length).map((event, index) => ({ ...event, data: strange[index] })),
  );
  expect(await mailerFor(stores.db, transport).runOnce()).toBe(strange.length);
  expect(sent[0]?.subject).toBe('4 operations failed');
  expect(sent[0]?.text).toContain('unknown');
});

it('the mail holds no key, and a hostile name stays in its line', async () => {
  const [event] = failOperations(1);
  if (!event) throw new Error('no event');
  const data = { operation: 'x\r\nBcc: victim@example.com', key: 'secret', code: 'C'.repeat(10_000) };
  await queueAll(stores.db, [...failOperations(3), { ...event, data }]);
  await mailerFor(stores.db, transport).runOnce();
  expect(sent[0]?.text).not.toMatch(/secret|ada@example\.com|^Bcc/m);
  expect(Math.max(...(sent[0]?.text ?? '').split('\n').map((line) => line.length))).toBeLessThan(500);
});
