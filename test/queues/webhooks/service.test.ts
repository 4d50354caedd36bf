import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { Receiver, verify } from './receiver.ts';

let receiver: Receiver;
let service: TestService;
const environment = { WAIT_SECONDS: '30', SEMEL_SECRET_KEY: 'a-key-for-tests-of-at-least-32-characters' };

beforeAll(async () => {
  receiver = await new Receiver().listen();
  service = await startTestService({ environment: { ...environment, WEBHOOK_ALLOW_PRIVATE: 'true' } });
});

afterAll(async () => {
  await service.close();
  await receiver.close();
});

it('what happens reaches those who subscribed, once and signed, and nobody else', async () => {
  const { api } = service;
  const register = async (url: string, events: string[]) => (await api.post('/v1/webhooks', { url, events })).body;
  const completed = await register(`${receiver.url}/completed`, ['transfer.completed']);
  const rejected = await register(`${receiver.url}/rejected`, ['transfer.rejected', 'proposal.submitted']);
  const [fromAccountId, toAccountId] = [await api.openAccount(100), await api.openAccount(0)];
  const pay = async (amount: number) =>
    await api.post('/v1/transfers', { fromAccountId, toAccountId, amount }, { key: randomUUID() });
  const [done, refused] = [await pay(60), await pay(60)];
  expect([done.status, refused.status]).toEqual([201, 422]);

  await eventually(() => expect(receiver.received).toHaveLength(2));
  const at = (path: string) => receiver.received.find((request) => request.path === path) ?? expect.fail(path);
  const event = verify(completed.secret, at('/hook/completed'));
  expect(event).toMatchObject({ type: 'transfer.completed', data: { id: done.body.id, amount: 60 } });
  expect(verify(rejected.secret, at('/hook/rejected'))).toMatchObject({ type: 'transfer.rejected' });
  const ids = receiver.ids.map(String);
  const events = await service.db.selectFrom('events').select(['id', 'type']).where('id', 'in', ids).execute();
  expect(events).toHaveLength(2);
});

it('unless it is allowed, a service registers no target in its own network', async () => {
  const strict = await startTestService({ environment });
  const answer = await strict.api.post('/v1/webhooks', { url: receiver.url, events: ['operation.failed'] });
  expect([answer.status, answer.body.code]).toEqual([422, 'WEBHOOK_URL_REFUSED']);
  await strict.close();
});
