import { randomUUID } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { type ApiEnv, headerOf } from './api-env.ts';

/** An id of the caller's is taken if it is short and plain, so that it cannot break a log or a header. */
export const saneId = /^[A-Za-z0-9._:-]{1,128}$/;

export const assignRequestId: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const given = headerOf(c, 'x-request-id');
  c.set('requestId', given !== undefined && saneId.test(given) ? given : randomUUID());
  await next();
};
