import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rotateSecret } from '../../../src/store/webhooks.ts';
import { openPumpFixture, type PumpFixture } from './pump-fixture.ts';
import { Receiver, verify } from './receiver.ts';

let fixture: PumpFixture;
let receiver: Receiver;
const fiveDaysMs = 5 * 86_400_000;

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

/** One attempt of all that is pending, with its outcome noted. */
async function attempt(): Promise<void> {
  await fixture.endLeases();
  const pump = fixture.createPump();
  await pump.runOnce();
  await pump.drain();
}

describe('a failure', () => {
  it.each([
    ['a redirect, which is not followed', 302],
    ['a refusal', 400],
    ['an error', 503],
  ])('%s is tried again', async (_, status) => {
    const elsewhere = await new Receiver().listen();
    const { id } = await fixture.register(receiver.url);
    receiver.answerWith(status, { location: elsewhere.url });
    await fixture.emit();
    await attempt();
    const [delivery] = await fixture.deliveriesOf(id);
    expect(delivery).toMatchObject({ status: 'PENDING', attempts: 1, last_status: status });
    expect(delivery?.last_error).toBe(
      status === 302 ? 'Redirects are not followed.' : `The receiver answered ${status}.`,
    );
    // The pause is a minute here, and up to a fifth of it longer.
    const pauseMs = (delivery?.next_attempt_at?.getTime() ?? 0) - Date.now();
    expect(pauseMs).toBeGreaterThan(50_000);
    expect(pauseMs).toBeLessThan(72_000);
    expect(elsewhere.received).toEqual([]);
    await elsewhere.close();
  });

  it('is given up after the last attempt', async () => {
    const { id } = await fixture.register(receiver.url);
    receiver.answerWith(500);
    await fixture.emit();
    for (let count = 1; count <= 5; count += 1) await attempt();
    expect(receiver.received).toHaveLength(3);
    expect(await fixture.deliveriesOf(id)).toMatchObject([
      { status: 'FAILED', attempts: 3, last_status: 500, next_attempt_at: null, delivered_at: null },
    ]);
    expect((await fixture.webhook(id)).disabled_at).toBeNull();
  });

  it('of the connection is noted without a status', async () => {
    const closed = await new Receiver().listen();
    const { id } = await fixture.register(closed.url);
    await closed.close();
    await fixture.emit();
    await attempt();
    expect(await fixture.deliveriesOf(id)).toMatchObject([
      { status: 'PENDING', last_status: null, last_error: 'The request failed: ECONNREFUSED.' },
    ]);
  });

  it('is silence for longer than the time, even if headers drip', async () => {
    const { id } = await fixture.register(receiver.url);
    receiver.reply = (response) => {
      response.socket?.write('HTTP/1.1 200 OK\r\n');
      const dripping = setInterval(() => response.socket?.write('x-drip: 1\r\n'), 20);
      response.socket?.on('close', () => clearInterval(dripping));
    };
    await fixture.emit();
    await attempt();
    expect(await fixture.deliveriesOf(id)).toMatchObject([
      { status: 'PENDING', last_status: null, last_error: 'There was no answer within 400 ms.' },
    ]);
  });
});

describe('a reply', () => {
  it('of more than 64 KiB is cut off; its status counts', async () => {
    const { id } = await fixture.register(receiver.url);
    let sentBytes = 0;
    receiver.reply = (response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(16 * 1024);
      const push = () => {
        while (!response.destroyed && response.write(chunk)) sentBytes += chunk.length;
        if (!response.destroyed) response.once('drain', push);
      };
      push();
    };
    await fixture.emit();
    await attempt();
    expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: 'DELIVERED', last_status: 200 }]);
    // What the buffers of both ends hold comes on top of it; an endless reply would be far beyond.
    expect(sentBytes).toBeLessThan(16 * 1024 * 1024);
  });

  it('that drips is cut off when the time is up; its status counts', async () => {
    const { id } = await fixture.register(receiver.url);
    receiver.reply = (response) => {
      response.writeHead(202);
      const dripping = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(dripping));
    };
    await fixture.emit();
    const startMs = Date.now();
    await attempt();
    expect(Date.now() - startMs).toBeLessThan(5_000);
    expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: 'DELIVERED', last_status: 202 }]);
  });
});

describe('a webhook is disabled', () => {
  it('by a 410, and what was still to be sent is given up', async () => {
    const { id } = await fixture.register(receiver.url);
    receiver.answerWith(410);
    await fixture.emit();
    await attempt();
    expect(await fixture.webhook(id)).toMatchObject({
      disabled_at: expect.any(Date),
      disabled_reason: 'It answered 410.',
    });
    await fixture.emit();
    await attempt();
    expect(receiver.received).toHaveLength(1);
    expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: 'FAILED', last_status: 410, attempts: 1 }]);
  });

  it.each([
    [fiveDaysMs - 60_000, false],
    [fiveDaysMs + 60_000, true],
  ])('by %i ms of only failures: %s', async (failingMs, isDisabled) => {
    const { id } = await fixture.register(receiver.url);
    const failing_since = new Date(Date.now() - failingMs);
    await fixture.db.updateTable('webhooks').set({ failing_since }).where('id', '=', id).execute();
    receiver.answerWith(500);
    await fixture.emit();
    await attempt();
    expect((await fixture.webhook(id)).disabled_at !== null).toBe(isDisabled);
    expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: isDisabled ? 'FAILED' : 'PENDING' }]);
  });

  it('never by old failures that a success has followed', async () => {
    const { id } = await fixture.register(receiver.url);
    const failing_since = new Date(Date.now() - 2 * fiveDaysMs);
    await fixture.db.updateTable('webhooks').set({ failing_since }).where('id', '=', id).execute();
    await fixture.emit();
    await attempt();
    expect(await fixture.webhook(id)).toMatchObject({ failing_since: null, disabled_at: null });
  });
});

describe('after a rotation', () => {
  const rotate = async (id: string, overlapMs: number) =>
    await rotateSecret(fixture.db, { client: 'default', id }, { overlapMs, maxSigning: 3 });
  const signatureCount = () => String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ').length;

  it('old and new secret sign until the overlap is over, then the new one alone', async () => {
    const { id } = await fixture.register(receiver.url);
    await rotate(id, 60_000);
    await fixture.emit();
    await attempt();
    for (const version of [1, 2]) verify(fixture.secretOf(id, version), receiver.received[0] ?? expect.fail());
    expect(signatureCount()).toBe(2);

    await fixture.db.updateTable('webhooks').set({ old_secrets_until: new Date() }).where('id', '=', id).execute();
    await fixture.emit();
    await attempt();
    const [, second = expect.fail()] = receiver.received;
    verify(fixture.secretOf(id, 2), second);
    expect(() => verify(fixture.secretOf(id, 1), second)).toThrow();
    expect(signatureCount()).toBe(1);
  });

  it('a second one within the overlap does not end the first secret, and at most three sign', async () => {
    const { id } = await fixture.register(receiver.url);
    for (const count of [2, 3, 3]) {
      await rotate(id, 60_000);
      await fixture.emit();
      await attempt();
      expect(signatureCount()).toBe(count);
    }
    for (const version of [2, 3, 4]) verify(fixture.secretOf(id, version), receiver.received[2] ?? expect.fail());
  });
});
