import { Hono } from 'hono';
import { z } from 'zod';
import { listAdminActions } from '../../../store/admin-actions.ts';
import { adminActionView } from '../../admin-view.ts';
import type { ApiEnv, ApiParts } from '../../api-env.ts';
import { jsonResponse } from '../../json-response.ts';
import { decodeCursor, pageQuery, toPage } from '../../paging.ts';
import { validate } from '../../read-json.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { idempotencyRoutes } from './idempotency.ts';
import { invariantRoutes } from './invariants.ts';
import { recordRoutes } from './records.ts';

export const actionsQuery = z.strictObject(pageQuery);

/** For operators, across all clients. Whoever mounts this asks for the scope `admin` before it. */
export function adminRoutes(parts: ApiParts): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .route('/idempotency', idempotencyRoutes(parts))
    .route('/idempotency/records', recordRoutes(parts))
    .route('/dead-letters', deadLetterRoutes(parts))
    .route('/api-keys', apiKeyRoutes(parts))
    .route('/invariants', invariantRoutes(parts))
    .get('/actions', async (c) => {
      const { limit, cursor } = validate(actionsQuery, c.req.query());
      const before = decodeCursor(cursor, z.uuid());
      const rows = await listAdminActions(parts.db, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, adminActionView));
    });
}
