import { Hono } from 'hono';
import type { ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';

/** For load balancers and people. Open to all: it tells how the service is, not what it holds. */
export function healthRoutes(parts: Pick<ApiParts, 'checkHealth'>): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .get('/', async (c) => {
      const report = await parts.checkHealth();
      return jsonResponse(c, report, report.status === 'down' ? 503 : 200);
    })
    .get('/live', (c) => jsonResponse(c, { status: 'ok' }))
    .get('/ready', async (c) => {
      const { status } = await parts.checkHealth();
      return jsonResponse(c, { status }, status === 'down' ? 503 : 200);
    });
}
