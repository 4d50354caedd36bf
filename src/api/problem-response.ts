import { AppError, type Problem, problemOf } from '../errors.ts';
import { isDatabaseUnavailable } from '../store/database.ts';
import type { ApiContext, ApiParts } from './api-env.ts';

export function problemResponse(c: ApiContext, problem: Problem, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', 'x-request-id': c.get('requestId'), ...headers },
  });
}

/** Turns whatever was thrown into a problem. What we did not expect is logged and says nothing of the inside. */
export function handleError(parts: Pick<ApiParts, 'log'>, error: unknown, c: ApiContext): Response {
  const requestId = c.get('requestId');
  const known = toAppError(error);
  if (!known) {
    parts.log.error({ err: error, requestId, method: c.req.method, path: c.req.path }, 'request failed');
    return problemResponse(c, problemOf('INTERNAL', `The error is in our log under the request id ${requestId}.`));
  }
  if (known.code === 'UNAVAILABLE') parts.log.warn({ err: known, requestId }, 'unavailable');
  return problemResponse(c, problemOf(known.code, known.message, known.extra), {
    ...defaultHeaders[known.code],
    ...known.headers,
  });
}

const defaultHeaders: Partial<Record<string, Record<string, string>>> = {
  UNAUTHENTICATED: { 'www-authenticate': 'Bearer' },
  UNAVAILABLE: { 'retry-after': '1' },
  OPERATION_IN_PROGRESS: { 'retry-after': '1' },
};

/** What a client may know of an error, if anything. */
export function toAppError(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (isDatabaseUnavailable(error))
    return new AppError('UNAVAILABLE', 'The database cannot be reached. Try again.', { cause: error });
  return undefined;
}
