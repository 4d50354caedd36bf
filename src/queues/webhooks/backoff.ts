/** Up to a fifth longer, at random: those that failed together do not come back together. */
const jitter = 0.2;

/** The pause after the attempt of this number (from 1), or null if it was the last one. */
export function pauseAfter(
  attempt: number,
  delaysMs: readonly number[],
  random: () => number = Math.random,
): number | null {
  const delayMs = delaysMs[attempt - 1];
  return delayMs === undefined ? null : Math.round(delayMs * (1 + jitter * random()));
}
