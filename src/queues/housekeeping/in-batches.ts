import { setTimeout as sleep } from 'node:timers/promises';

/** Small enough that a batch holds its locks for milliseconds, large enough that more goes than a busy system adds. */
export const batchSize = 500;
/** Of seven parts of the time one is work: whoever else needs the database gets the other six. */
const restFactor = 6;
const minRestMs = 20;
/** A batch that took long met a database that is busy, or a machine that slept. */
const maxRestMs = 2_000;

/** What one batch did, and whether there may be more. */
export interface Batch {
  done: number;
  isLast: boolean;
}

/** Works in batches with a rest after each. Ends early, without a fault, when the process is to end. */
export async function inBatches(signal: AbortSignal, runBatch: () => Promise<Batch>): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const startedMs = performance.now();
    const { done, isLast } = await runBatch();
    total += done;
    if (isLast) break;
    const restMs = Math.min(maxRestMs, Math.max(minRestMs, restFactor * (performance.now() - startedMs)));
    await sleep(restMs, undefined, { signal }).catch(() => undefined);
  }
  return total;
}
