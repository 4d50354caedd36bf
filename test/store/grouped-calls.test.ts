import { expect, it } from 'vitest';
import { GroupedCalls } from '../../src/store/grouped-calls.ts';
import { eventually } from '../support/eventually.ts';

it('what arrives while a group is under way goes together in the next one', async () => {
  const groups: number[][] = [];
  const gates: (() => void)[] = [];
  const calls = new GroupedCalls<number, number>({
    run: async (items) => {
      groups.push(items);
      await new Promise<void>((resolve) => gates.push(resolve));
      return items.map((item) => item * 10);
    },
    maxGroupSize: 10,
    concurrency: 1,
  });
  const first = calls.call(1);
  await eventually(() => expect(groups).toHaveLength(1));
  const rest = [calls.call(2), calls.call(3), calls.call(4)];
  gates.shift()?.();
  expect(await first).toBe(10);
  await eventually(() => expect(groups).toHaveLength(2));
  gates.shift()?.();
  expect(await Promise.all(rest)).toEqual([20, 30, 40]);
  expect(groups).toEqual([[1], [2, 3, 4]]);
});

it('an item that spoils its group fails alone', async () => {
  const calls = new GroupedCalls<number, number>({
    run: async (items) => {
      if (items.includes(3)) throw new Error('three');
      return items;
    },
    maxGroupSize: 10,
    concurrency: 1,
    mayBlameOneItem: () => true,
  });
  const results = await Promise.allSettled([1, 2, 3, 4].map((item) => calls.call(item)));
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
});

it('a group is never larger than allowed and every call gets its own answer', async () => {
  const sizes: number[] = [];
  const calls = new GroupedCalls<number, number>({
    run: async (items) => {
      sizes.push(items.length);
      return items;
    },
    maxGroupSize: 7,
    concurrency: 2,
  });
  const items = Array.from({ length: 100 }, (_, index) => index);
  expect(await Promise.all(items.map((item) => calls.call(item)))).toEqual(items);
  expect(Math.max(...sizes)).toBe(7);
});
