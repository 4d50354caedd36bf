import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Metrics } from '../metrics.ts';
import type { ApiContext, ApiEnv } from './api-env.ts';

/** Counts every request by the pattern of its route, so that ids and made-up paths make no labels. */
export function countRequests({ http }: Pick<Metrics, 'http'>): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const startedMs = performance.now();
    await next();
    http.count(c.req.method, routeOf(c), c.res.status, startedMs);
  };
}

/** The last one that matched and is no middleware, whether it was reached or someone refused before. */
function routeOf(c: ApiContext): string {
  const route = matchedRoutes(c).findLast(({ method }) => method !== 'ALL');
  return route?.path ?? 'unmatched';
}
