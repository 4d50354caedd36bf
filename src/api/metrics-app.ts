import { Hono } from 'hono';
import { AppError } from '../errors.ts';
import type { ApiEnv, ApiParts } from './api-env.ts';
import { jsonResponse } from './json-response.ts';
import { handleError } from './problem-response.ts';
import { assignRequestId } from './request-id.ts';
import { metricsRoutes } from './routes/metrics.ts';

/** What a process without an API shows: what it measures, and that it lives. */
export function createMetricsApp(parts: Pick<ApiParts, 'db' | 'consumeRateLimit' | 'scrape' | 'log'>): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.use(assignRequestId);
  app.onError((error, c) => handleError(parts, error, c));
  app.notFound((c) => handleError(parts, new AppError('NOT_FOUND', 'There is no such route.'), c));
  app.route('/metrics', metricsRoutes(parts));
  app.get('/health/live', (c) => jsonResponse(c, { status: 'ok' }));
  return app;
}
