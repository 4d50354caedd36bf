import { setTimeout as sleep } from 'node:timers/promises';

// Smooth for somebody who watches, and nothing to Semel.
const pollMs = 100;
// A takeover needs about ten seconds; two minutes mean that it will never come, even on a busy machine.
const timeoutMs = 120_000;

/** Asks until the answer is yes. Throws what `whatNever` says if it never is. */
export async function waitUntil(isSo: () => boolean | Promise<boolean>, whatNever: string): Promise<void> {
  for (const deadlineMs = performance.now() + timeoutMs; performance.now() < deadlineMs; await sleep(pollMs)) {
    if (await isSo()) return;
  }
  throw new Error(`${whatNever} within ${timeoutMs / 1_000} seconds.`);
}
