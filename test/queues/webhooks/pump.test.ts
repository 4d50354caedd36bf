import type { KyselyPlugin } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openPumpFixture, type PumpFixture } from './pump-fixture.ts';
import { Receiver, verify } from './receiver.ts';

let fixture: PumpFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await openPumpFixture();
});

beforeEach(async () => {
  receiver = await new Receiver().listen();
});

afterEach(async () => {
  await receiver.close();
  await fixture.db.deleteFrom('webhooks').execute();
});

afterAll(() => fixture.close());

describe('a delivery', () => {
  it('has the id, type, time and data of its event, and a signature that an independent verifier accepts', async () => {
    const webhook = await fixture.register(receiver.url);
    const event = await fixture.emit();
    expect(await fixture.createPump().runOnce()).toBe(1);
    const [request] = receiver.received;
    if (!request) throw new Error('nothing was received');
    expect(request).toMatchObject({ method: 'POST', path: '/hook', headers: { 'content-type': 'application/json' } });
    expect(request.headers['webhook-id']).toBe(event.id);
    const { type, data, created_at } = event;
    expect(verify(fixture.secretOf(webhook.id), request)).toEqual({ type, timestamp: created_at.toISOString(), data });
    expect(() => verify(fixture.secretOf(webhook.id, 2), request)).toThrow();
    expect(await fixture.deliveriesOf(webhook.id)).toMatchObject([
      { status: 'DELIVERED', attempts: 1, last_status: 204, last_error: null, delivered_at: expect.any(Date) },
    ]);
    expect(await fixture.createPump().runOnce()).toBe(0);
  });

  it('is made once for each webhook that wants it, however often the event comes', async () => {
    const [one, two] = [await fixture.register(receiver.url), await fixture.register(receiver.url)];
    await fixture.register(receiver.url, ['transfer.rejected']);
    await fixture.register(receiver.url, ['transfer.completed'], 'other');
    const event = await fixture.emit();
    await Promise.all(Array.from({ length: 5 }, () => fixture.emit(event)));
    await fixture.createPump().runOnce();
    expect(receiver.ids).toEqual([event.id, event.id]);
    for (const { id } of [one, two]) expect(await fixture.deliveriesOf(id)).toHaveLength(1);
  });

  it('comes again with the same id and body, a fresh timestamp and a valid signature, after a 500 and after silence', async () => {
    const { id } = await fixture.register(receiver.url);
    const replies = [
      () => receiver.answerWith(500),
      // It applies what it got, and then says nothing.
      () => {
        receiver.reply = () => undefined;
      },
      () => receiver.answerWith(200),
    ];
    const event = await fixture.emit();
    const pump = fixture.createPump();
    for (const [index, answer] of replies.entries()) {
      answer();
      // The timestamp counts seconds, so the next attempt is let go in another one.
      const second = Math.floor(Date.now() / 1000);
      await eventually(() => expect(Math.floor(Date.now() / 1000)).toBeGreaterThan(second));
      await fixture.endLeases();
      receiver.received.length = index;
      await pump.runOnce();
      await pump.drain();
      if (index === 0) expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: 'PENDING', last_status: 500 }]);
    }
    const seen = receiver.received;
    expect(receiver.ids).toEqual([event.id, event.id, event.id]);
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
    expect(new Set(seen.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(3);
    for (const request of seen) verify(fixture.secretOf(id), request);
    expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: 'DELIVERED', attempts: 3, last_status: 200 }]);
    expect((await fixture.webhook(id)).failing_since).toBeNull();
  });

  it('of a pump that died before it noted the outcome comes again after the lease, with the same id', async () => {
    const { id } = await fixture.register(receiver.url);
    const event = await fixture.emit();
    // A pump whose database is gone after the claim is all that is seen of one that was killed.
    const dying = fixture.createPump({ db: fixture.db.withPlugin(onlyTheFirstQuery()) });
    await dying.runOnce().catch(() => undefined);
    await dying.drain();
    expect(receiver.ids).toEqual([event.id]);
    expect(await fixture.createPump().runOnce()).toBe(0);
    await fixture.endLeases();
    expect(await fixture.createPump().runOnce()).toBe(1);
    expect(receiver.ids).toEqual([event.id, event.id]);
    expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: 'DELIVERED', attempts: 2 }]);
  });
});

it('many pumps at once send each delivery once', async () => {
  await fixture.register(receiver.url);
  const events = await Promise.all(Array.from({ length: 200 }, () => fixture.emit()));
  const pumps = Array.from({ length: 4 }, () => fixture.createPump());
  let sent = 0;
  await eventually(async () => {
    for (const count of await Promise.all(pumps.map((pump) => pump.runOnce()))) sent += count;
    expect(sent).toBe(200);
  });
  expect(receiver.ids.toSorted()).toEqual(events.map(({ id }) => id).toSorted());
});

it('a receiver that hangs does not hold up the others', async () => {
  const hanging = await new Receiver().listen();
  hanging.reply = () => undefined;
  const slow = await openPumpFixture({ WEBHOOK_TIMEOUT_MS: '60000' });
  await slow.register(hanging.url);
  for (let count = 0; count < 60; count += 1) await slow.emit();
  const { id } = await slow.register(receiver.url, ['transfer.rejected']);
  const event = await slow.emit({ type: 'transfer.rejected' });
  const pump = slow.createPump();
  await pump.runOnce();
  await eventually(() => expect(receiver.ids).toEqual([event.id]));
  await eventually(async () => expect(await slow.deliveriesOf(id)).toMatchObject([{ status: 'DELIVERED' }]));
  expect(hanging.received.length).toBeLessThan(40);
  await hanging.close();
  await pump.drain();
  await slow.close();
});

/** Lets one query through and refuses those that follow, as a connection does that is gone. */
function onlyTheFirstQuery(): KyselyPlugin {
  let queries = 0;
  return {
    transformQuery: ({ node }) => {
      queries += 1;
      if (queries > 1) throw new Error('the process is dead');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}
