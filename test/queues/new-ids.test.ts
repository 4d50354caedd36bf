import { validate, version } from 'uuid';
import { expect, it } from 'vitest';
import { newIds } from '../../src/queues/new-ids.ts';

it('ids of a group are of version 7, all different, and in their order', () => {
  const groups = Array.from({ length: 200 }, () => newIds(500));
  const all = groups.flat();
  expect(new Set(all).size).toBe(all.length);
  expect(all.every((id) => validate(id) && version(id) === 7)).toBe(true);
  for (const ids of groups) expect(ids.toSorted()).toEqual(ids);
});

it('none are none', () => {
  expect(newIds(0)).toEqual([]);
});
