import type { DedupRow } from '../store/dedup.ts';
import type { Taken } from './dedup-store.ts';

/** A statement that saw nothing was overtaken by another; that this happens several times in a row is a coincidence. */
const tries = 3;

export async function takeInPostgres(take: () => Promise<DedupRow | undefined>): Promise<Taken> {
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    const row = await take();
    if (row) return toTaken(row);
  }
  return { state: 'in-flight', freeInMs: 0 };
}

function toTaken({ state, result, free_in_ms }: DedupRow): Taken {
  if (state === 'DONE') return { state: 'done', result: result ?? '' };
  return state === 'TAKEN' ? { state: 'taken' } : { state: 'in-flight', freeInMs: Math.ceil(free_in_ms) };
}
