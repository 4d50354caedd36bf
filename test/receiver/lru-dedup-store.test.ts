import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LruDedupStore } from '../../src/index.ts';
import { itConforms } from './conformance.ts';

itConforms(async () => ({ create: (options) => new LruDedupStore(options) }));

const keyOf = (id: string) => ({ namespace: 'lru', id });

describe('memory', () => {
  it('keeps results for five minutes and marks for half a minute, to the millisecond', async () => {
    let nowMs = 1_000;
    const store = new LruDedupStore({ now: () => nowMs });
    await store.take(keyOf('held'), randomUUID());
    await store.finish(keyOf('done'), randomUUID(), '1');
    nowMs += 29_999;
    expect(await store.take(keyOf('held'), randomUUID())).toEqual({ state: 'in-flight', freeInMs: 1 });
    nowMs += 1;
    expect(await store.take(keyOf('held'), randomUUID())).toEqual({ state: 'taken' });
    nowMs = 1_000 + 5 * 60 * 1000 - 1;
    expect(await store.take(keyOf('done'), randomUUID())).toEqual({ state: 'done', result: '1' });
    nowMs += 1;
    expect(await store.removeExpired()).toBe(2);
    expect(await store.take(keyOf('done'), randomUUID())).toEqual({ state: 'taken' });
  });

  it('forgets the result that was asked for least recently when it is full', async () => {
    const store = new LruDedupStore({ maxEntries: 2 });
    for (const id of ['a', 'b']) await store.finish(keyOf(id), randomUUID(), id);
    await store.take(keyOf('a'), randomUUID());
    await store.finish(keyOf('c'), randomUUID(), 'c');
    expect(await store.take(keyOf('a'), randomUUID())).toEqual({ state: 'done', result: 'a' });
    expect(await store.take(keyOf('b'), randomUUID())).toEqual({ state: 'taken' });
  });

  it('never forgets what is in flight, however much else is done', async () => {
    const store = new LruDedupStore({ maxEntries: 2, maxResultBytes: 10, maxBytes: 20 });
    await store.take(keyOf('held'), randomUUID());
    for (let n = 0; n < 100; n += 1) await store.finish(keyOf(`other-${n}`), randomUUID(), 'x'.repeat(10));
    expect(await store.take(keyOf('held'), randomUUID())).toMatchObject({ state: 'in-flight' });
  });

  it('has room for any result that it takes', () => {
    expect(() => new LruDedupStore({ maxBytes: 10, maxResultBytes: 11 })).toThrow('maxBytes must be at least');
  });
});

it('refuses durations and bounds that are none', () => {
  for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    for (const name of ['ttlMs', 'leaseMs', 'maxResultBytes']) {
      expect(() => new LruDedupStore({ [name]: value })).toThrow(`${name} must be a positive integer.`);
    }
  }
  expect(() => new LruDedupStore({ leaseMs: 86_400_001 })).toThrow('leaseMs must be at most');
});
