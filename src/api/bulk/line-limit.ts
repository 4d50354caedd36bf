import { AppError } from '../../errors.ts';
import type { ApiParts } from '../api-env.ts';

/** So long a refusal holds for the lines that follow, which would otherwise cost a look at Redis each. */
const refusedMs = 1_000;

/** Takes a line from what the client has left in this minute, or says that there is nothing left. */
export function createLineLimit(
  parts: Pick<ApiParts, 'consumeRateLimit'>,
  client: string,
): () => Promise<AppError | undefined> {
  let refusal: { error: AppError; untilMs: number } | undefined;
  return async () => {
    if (refusal && Date.now() < refusal.untilMs) return refusal.error;
    try {
      await parts.consumeRateLimit(client, 'line');
      return undefined;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refusal = { error, untilMs: Date.now() + refusedMs };
      return error;
    }
  };
}
