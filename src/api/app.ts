import { Hono } from 'hono';
import { AppError } from '../errors.ts';
import type { ApiEnv, ApiParts } from './api-env.ts';
import { admit, admitAdmin } from './authenticate.ts';
import { countRequests } from './count-requests.ts';
import { handleError } from './problem-response.ts';
import { assignRequestId } from './request-id.ts';
import { accountRoutes } from './routes/accounts.ts';
import { adminRoutes } from './routes/admin/admin-routes.ts';
import { customerRoutes } from './routes/customers.ts';
import { documentationRoutes } from './routes/documentation.ts';
import { healthRoutes } from './routes/health.ts';
import { mailingRoutes } from './routes/mailings.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { operationRoutes } from './routes/operations.ts';
import { proposalRoutes } from './routes/proposals.ts';
import { publicLinkRoutes } from './routes/public-links.ts';
import { queueBoardRoutes } from './routes/queue-board.ts';
import { suppressionRoutes } from './routes/suppressions.ts';
import { transferRoutes } from './routes/transfers.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** Every route of Semel, on one screen. */
export function createApp(parts: ApiParts): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.use(countRequests(parts.metrics));
  app.use(assignRequestId);
  app.onError((error, c) => handleError(parts, error, c));
  app.notFound((c) => handleError(parts, new AppError('NOT_FOUND', 'There is no such route.'), c));

  app.route('/health', healthRoutes(parts));
  app.route('/metrics', metricsRoutes(parts));
  app.route('/', publicLinkRoutes(parts));
  app.route('/', documentationRoutes(parts));
  app.route('/queues', queueBoardRoutes(parts, '/queues'));

  app.use('/v1/*', admit(parts));
  app.route('/v1/accounts', accountRoutes(parts));
  app.route('/v1/transfers', transferRoutes(parts));
  app.route('/v1/customers', customerRoutes(parts));
  app.route('/v1/proposals', proposalRoutes(parts));
  app.route('/v1/mailings', mailingRoutes(parts));
  app.route('/v1/suppressions', suppressionRoutes(parts));
  app.route('/v1/webhooks', webhookRoutes(parts));
  app.route('/v1/operations', operationRoutes(parts));

  app.use('/v1/admin/*', admitAdmin);
  app.route('/v1/admin', adminRoutes(parts));
  return app;
}
