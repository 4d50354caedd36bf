import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;
let api: ServiceProcess;
let receiver: Server;
/** What a receiver that deduplicates by webhook-id has seen: the transfer's id by the event's id. */
const seen = new Map<string, string>();

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { id: string } };
      seen.set(String(request.headers['webhook-id']), data.id);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  stores = await openTestStores({ LOCK_DURATION_MS: '1500', WAIT_SECONDS: '30', WEBHOOK_ALLOW_PRIVATE: 'true' });
  api = await startProcess('api', stores.environment);
});

afterAll(async () => {
  await api.stop();
  receiver.closeAllConnections();
  receiver.close();
  await stores.close();
});

it('1 000 transfers with a worker killed in the middle and two relays are notified, each as one event', async () => {
  const start = () => startProcess('worker', stores.environment);
  const [doomed, sound] = await Promise.all([start(), start()]);
  const accounts = { fromAccountId: await api.api.openAccount(10_000), toAccountId: await api.api.openAccount(0) };
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const registered = await api.api.post('/v1/webhooks', { url, events: ['transfer.completed'] }, { key: randomUUID() });
  expect(registered.status).toBe(201);

  const send = () => api.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key: randomUUID() });
  const sending = Promise.all(Array.from({ length: 1_000 }, send));
  await eventually(() => expect(seen.size).toBeGreaterThan(0), { timeoutMs: 30_000 });
  await doomed.kill();
  // By force: what is in its queue is relayed again.
  await stores.db
    .updateTable('outbox')
    .set({ next_attempt_at: new Date(0) })
    .execute();
  const answers = await sending;
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
  await allSettled(stores.db);
  await judge(stores.db);

  await eventually(() => expect(seen.size).toBe(1_000), { timeoutMs: 45_000 });
  expect(new Set(seen.values())).toEqual(new Set(answers.map((answer) => answer.body.id)));
  const events = await stores.db.selectFrom('events').select('id').where('type', '=', 'transfer.completed').execute();
  expect(new Set(seen.keys())).toEqual(new Set(events.map((event) => event.id)));
  await eventually(async () => expect(await stores.db.selectFrom('outbox').selectAll().execute()).toEqual([]), {
    timeoutMs: 45_000,
  });
  await sound.stop();
});
