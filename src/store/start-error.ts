import { isDatabaseUnavailable } from './database.ts';

/** Something is set up in a way that would break a promise. The message is the one line that a person needs. */
export class StartError extends Error {}

/** The line for a Postgres that does not answer; any other error stays as it is. */
export function toStartError(error: unknown): unknown {
  if (!isDatabaseUnavailable(error)) return error;
  const reason = error instanceof AggregateError ? error.errors[0] : error;
  const message = reason instanceof Error ? reason.message : String(reason);
  return new StartError(`DATABASE_URL leads to no Postgres that answers: ${message}`);
}
