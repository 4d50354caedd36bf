import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type DedupStore,
  type DedupStoreOptions,
  IdempotentReceiver,
  InFlightElsewhereError,
  LeaseLostError,
  type Taken,
  UnstorableResultError,
} from '../../src/index.ts';
import { storableIdOf } from '../../src/receiver/storable-id.ts';
import { eventually } from '../support/eventually.ts';
import { hostileId } from './hostile-id.ts';

export interface OpenStores {
  create: (options?: DedupStoreOptions) => DedupStore;
  close?: () => Promise<void>;
}

type Numbered = { id: string; value?: unknown };

/** Long enough to do something before it ends on a busy machine, short enough to wait for. */
const shortMs = 1_000;

const newKey = () => ({ namespace: 'conformance', id: randomUUID() });

/** What every store must do, alone and under a receiver. */
export function itConforms(open: () => Promise<OpenStores>): void {
  let stores: OpenStores;

  beforeAll(async () => {
    stores = await open();
  });

  afterAll(async () => await stores.close?.());

  const receive = (store: DedupStore, handler: (message: Numbered) => unknown, namespace = 'conformance') =>
    new IdempotentReceiver<Numbered, unknown>({ store, handler, idOf: ({ id }) => id, namespace });

  describe('marks', () => {
    it('of a hundred that take a message at once, one gets it', async () => {
      const [store, key] = [stores.create(), newKey()];
      const taken = await takeAHundredTimes(store, key);
      expect(taken.filter(({ state }) => state === 'taken')).toHaveLength(1);
      expect(taken.filter(({ state }) => state === 'in-flight')).toHaveLength(99);
    });

    it('a hundred deliveries at once run the handler once, and later ones get its result', async () => {
      let runs = 0;
      const message = { id: randomUUID() };
      const store = stores.create();
      const deliver = () => receive(store, () => ({ run: ++runs })).receive(message);
      const outcomes = await Promise.allSettled(Array.from({ length: 100 }, deliver));
      expect(runs).toBe(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(InFlightElsewhereError);
        else expect(outcome.value.result).toEqual({ run: 1 });
      }
      expect(await deliver()).toEqual({ result: { run: 1 }, duplicate: true, recorded: true });
    });

    it('a message in flight says how long it may take to be free', async () => {
      const [store, key] = [stores.create({ leaseMs: 20_000 }), newKey()];
      await store.take(key, randomUUID());
      const second = await store.take(key, randomUUID());
      if (second.state !== 'in-flight') throw new Error(second.state);
      expect(second.freeInMs).toBeGreaterThan(10_000);
      expect(second.freeInMs).toBeLessThanOrEqual(20_000);
    });

    it('namespaces are apart: each consumer group handles the message once', async () => {
      const [store, message] = [stores.create(), { id: randomUUID() }];
      const runs: string[] = [];
      const groups = ['mail', 'webhooks'].map((name) => receive(store, () => runs.push(name), name));
      for (const group of [...groups, ...groups]) await group.receive(message);
      expect(runs).toEqual(['mail', 'webhooks']);
    });
  });

  // Side by side, because they mostly wait.
  describe.concurrent('time', () => {
    it('of a hundred that take an expired message at once, one gets it and none the old result', async () => {
      const [store, key] = [stores.create({ ttlMs: shortMs }), newKey()];
      await store.finish(key, randomUUID(), '"old"');
      await shortTimeIsOver();
      const taken = await takeAHundredTimes(store, key);
      expect(taken.filter(({ state }) => state === 'taken')).toHaveLength(1);
      expect(taken.filter(({ state }) => state === 'in-flight')).toHaveLength(99);
    });

    it('a result is forgotten after its time to live, and not before', async () => {
      let runs = 0;
      const receiver = receive(stores.create({ ttlMs: shortMs }), () => ++runs);
      const message = { id: randomUUID() };
      const startMs = performance.now();
      await receiver.receive(message);
      await eventually(async () => expect((await receiver.receive(message)).duplicate).toBe(false));
      // A clock of another machine may differ by a little from ours.
      expect(performance.now() - startMs).toBeGreaterThan(shortMs - 20);
      expect(runs).toBe(2);
    });

    it('a crash between mark and result makes the message free at the end of the lease', async () => {
      const [store, key] = [stores.create({ leaseMs: shortMs }), newKey()];
      // Who takes it and is never heard of again has crashed.
      await store.take(key, randomUUID());
      const receiver = receive(store, () => 'taken over');
      await expect(receiver.receive(key)).rejects.toThrow(InFlightElsewhereError);
      expect(await eventually(() => receiver.receive(key))).toMatchObject({ result: 'taken over', duplicate: false });
    });

    it('a late result is refused while another holds the message, and after it is done', async () => {
      const [store, key, [late, newer]] = [stores.create({ leaseMs: shortMs }), newKey(), [randomUUID(), randomUUID()]];
      await store.take(key, late);
      await eventually(async () => expect(await store.take(key, newer)).toEqual({ state: 'taken' }));
      expect(await store.finish(key, late, '"late"')).toBe(false);
      await store.release(key, late);
      expect(await store.take(key, late)).toMatchObject({ state: 'in-flight' });
      expect(await store.finish(key, newer, '"newer"')).toBe(true);
      expect(await store.finish(key, late, '"late"')).toBe(false);
      expect(await store.take(key, late)).toEqual({ state: 'done', result: '"newer"' });
    });

    it('a late result is kept if nobody has taken the message meanwhile', async () => {
      const [store, key, token] = [stores.create({ leaseMs: 1 }), newKey(), randomUUID()];
      await store.take(key, token);
      await store.removeExpired();
      expect(await store.finish(key, token, '"late"')).toBe(true);
      expect(await store.take(key, randomUUID())).toEqual({ state: 'done', result: '"late"' });
    });

    it('a receiver that was overtaken says so, and the newer result stands', async () => {
      const [store, key, newer] = [stores.create({ leaseMs: 1 }), newKey(), randomUUID()];
      const overtaken = receive(withoutRenewal(store), async () => {
        await eventually(async () => expect(await store.take(key, newer)).toEqual({ state: 'taken' }));
        await store.finish(key, newer, '"newer"');
        return 'late';
      });
      await expect(overtaken.receive(key)).rejects.toThrow(LeaseLostError);
      expect(await receive(store, () => 'unused').receive(key)).toMatchObject({ result: 'newer', duplicate: true });
    });

    it('a handler that lives keeps its message for longer than the lease', async () => {
      const [store, message] = [stores.create({ leaseMs: shortMs }), { id: randomUUID() }];
      const other = receive(store, () => 'other');
      const receipt = await receive(store, async () => {
        const startMs = performance.now();
        await eventually(async () => {
          await expect(other.receive(message)).rejects.toThrow(InFlightElsewhereError);
          expect(performance.now() - startMs).toBeGreaterThan(2 * shortMs);
        });
        return 'slow';
      }).receive(message);
      expect(receipt.result).toBe('slow');
    });

    it('what has expired is removed, and nothing else', async () => {
      const [store, gone, kept] = [stores.create({ ttlMs: shortMs }), Array.from({ length: 25 }, newKey), newKey()];
      await Promise.all(gone.map((key) => store.finish(key, randomUUID(), '"gone"')));
      await store.take(kept, randomUUID());
      await shortTimeIsOver();
      await store.removeExpired({ batchSize: 10 });
      for (const key of gone) expect(await store.take(key, randomUUID())).toEqual({ state: 'taken' });
      expect(await store.take(kept, randomUUID())).toMatchObject({ state: 'in-flight' });
    });
  });

  describe('results', () => {
    it('a handler that fails makes the message free, and its error is passed on', async () => {
      const [store, message, failure] = [stores.create(), { id: randomUUID() }, new Error('no paper')];
      const failing = receive(store, () => Promise.reject(failure));
      await expect(failing.receive(message)).rejects.toBe(failure);
      await expect(failing.receive(message)).rejects.toBe(failure);
      expect(await receive(store, () => 'printed').receive(message)).toMatchObject({ result: 'printed' });
    });

    it('any JSON comes back as it was, also null, false, nothing and strange text', async () => {
      const receiver = receive(stores.create(), ({ value }) => value);
      const values = fc.oneof(fc.constantFrom(undefined, null, false, 0, '', '!', '\0', '\ud800'), fc.jsonValue());
      await fc.assert(
        fc.asyncProperty(values, async (value) => {
          const message = { id: randomUUID(), value };
          const first = await receiver.receive(message);
          const again = await receiver.receive(message);
          const expected = value === undefined ? undefined : JSON.parse(JSON.stringify(value));
          expect(first).toEqual({ result: expected, duplicate: false, recorded: true });
          expect(again).toEqual({ result: expected, duplicate: true, recorded: true });
        }),
        { numRuns: 50 },
      );
    });

    it('a result of a megabyte and more is kept', async () => {
      const receiver = receive(stores.create(), ({ value }) => value);
      const message = { id: randomUUID(), value: { blob: `${randomBytes(1_500_000).toString('base64')}ß€` } };
      await receiver.receive(message);
      expect(await receiver.receive(message)).toEqual({ result: message.value, duplicate: true, recorded: true });
    });

    it('a result beyond the bound is refused to all with the bound, and the work is not done again', async () => {
      let runs = 0;
      const receiver = receive(stores.create({ maxResultBytes: 1_000 }), ({ value }) => {
        runs += 1;
        return value;
      });
      const message = { id: randomUUID(), value: 'x'.repeat(999) };
      for (const _ of [1, 2]) {
        const error = await receiver.receive(message).catch((reason) => reason);
        expect(error).toBeInstanceOf(UnstorableResultError);
        expect(error).toMatchObject({
          reason: 'too-big',
          maxResultBytes: 1_000,
          message: expect.stringContaining('1000 bytes'),
        });
      }
      expect(runs).toBe(1);
      const fits = { id: randomUUID(), value: 'x'.repeat(998) };
      expect(await receiver.receive(fits)).toMatchObject({ result: fits.value });
    });
  });

  it('hostile ids are never mixed up', async () => {
    const store = stores.create();
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(hostileId, { minLength: 1, maxLength: 20 }), async (ids) => {
        const receiver = receive(store, ({ id }) => ({ handled: storableIdOf(id), length: id.length }), randomUUID());
        const expected = ids.map((id) => ({ handled: storableIdOf(id), length: id.length }));
        const first = await Promise.all(ids.map((id) => receiver.receive({ id })));
        expect(first).toEqual(expected.map((result) => ({ result, duplicate: false, recorded: true })));
        const again = await Promise.all(ids.map((id) => receiver.receive({ id })));
        expect(again).toEqual(expected.map((result) => ({ result, duplicate: true, recorded: true })));
      }),
      { numRuns: 50 },
    );
  });
}

/** What was to end after a short time has ended, by any clock of this machine. */
async function shortTimeIsOver(): Promise<void> {
  const startMs = performance.now();
  await eventually(() => expect(performance.now() - startMs).toBeGreaterThan(shortMs));
}

function takeAHundredTimes(store: DedupStore, key: { namespace: string; id: string }): Promise<Taken[]> {
  return Promise.all(Array.from({ length: 100 }, () => store.take(key, randomUUID())));
}

/** As seen by a process that is paused for longer than its lease. */
function withoutRenewal(store: DedupStore): DedupStore {
  return {
    leaseMs: 60_000,
    maxResultBytes: store.maxResultBytes,
    take: (key, token) => store.take(key, token),
    finish: (key, token, result) => store.finish(key, token, result),
    release: (key, token) => store.release(key, token),
    removeExpired: (options) => store.removeExpired(options),
  };
}
