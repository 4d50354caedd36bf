import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves with the check's value once it does not throw; rejects with its last error when the time is up. */
export async function eventually<T>(
  check: () => T | Promise<T>,
  // Fifteen seconds cover a takeover of work, the slowest thing that is waited for by default.
  { timeoutMs = 15_000, intervalMs = 25 }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
    await sleep(intervalMs);
  }
}
