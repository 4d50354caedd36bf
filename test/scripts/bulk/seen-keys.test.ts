import { describe, expect, it } from 'vitest';
import { SeenKeys } from '../../../scripts/bulk/seen-keys.ts';

describe('keys of a file', () => {
  it('are noticed the second time, and no other is taken for them', () => {
    const seen = new SeenKeys();
    const keys = Array.from({ length: 200_000 }, (_, index) => `order-${index}`);
    expect(keys.filter((key) => seen.add(key))).toEqual([]);
    expect(keys.filter((key) => !seen.add(key))).toEqual([]);
    expect(seen.add('order-200000')).toBe(false);
  });

  it('beyond a million are let through, in the same memory', () => {
    const seen = new SeenKeys();
    for (let index = 0; index < 1_100_000; index += 1) seen.add(`k${index}`);
    expect(seen.isFull).toBe(true);
    expect(seen.add('k0')).toBe(true);
    expect(seen.add('k1099999')).toBe(false);
  });
});
