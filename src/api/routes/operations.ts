import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { listAudit } from '../../store/audit.ts';
import { findRecord, listRecords } from '../../store/record-queries.ts';
import { recordStatuses } from '../../store/records.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../api-env.ts';
import { auditTrailView } from '../audit-view.ts';
import { bulkRoute } from '../bulk/bulk-route.ts';
import { jsonResponse } from '../json-response.ts';
import { operationRoute } from '../operation-route.ts';
import { operationView } from '../operation-view.ts';
import { decodeCursor, pageQuery, toPage } from '../paging.ts';
import { readId } from '../read-id.ts';
import { validate } from '../read-json.ts';

// Postgres refuses NUL in a text, and nothing that is kept contains it.
const filterText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((text) => !text.includes('\0'), 'must not contain NUL');

export const operationsQuery = z.strictObject({
  status: z.enum(recordStatuses).optional(),
  operation: filterText(100).optional(),
  key: filterText(255).optional(),
  ...pageQuery,
});

export function operationRoutes(parts: ApiParts): Hono<ApiEnv> {
  const findOwn = async (c: ApiContext) => {
    const id = readId(c);
    await parts.replayCounter.flush();
    const record = await findRecord(parts.db, c.get('caller'), id);
    if (!record) throw new AppError('NOT_FOUND', 'There is no such operation.');
    return record;
  };

  // Every registered operation can be called by its name; some have a resource route as well.
  const runs = new Map([...parts.registry].map(([name, operation]) => [name, operationRoute(parts, operation)]));

  return new Hono<ApiEnv>()
    .post('/bulk', bulkRoute(parts))
    .post('/:operation', async (c, next) => {
      const run = runs.get(c.req.param('operation'));
      if (!run) throw new AppError('NOT_FOUND', 'There is no such operation.');
      return await run(c, next);
    })
    .get('/', async (c) => {
      const { limit, cursor, ...filter } = validate(operationsQuery, c.req.query());
      const before = decodeCursor(cursor, z.uuid());
      await parts.replayCounter.flush();
      const rows = await listRecords(parts.db, c.get('caller'), filter, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, operationView));
    })
    .get('/:id', async (c) => jsonResponse(c, operationView(await findOwn(c))))
    .get('/:id/audit', async (c) => {
      const record = await findOwn(c);
      const rows = await listAudit(parts.db, record.id);
      const isOperator = c.get('caller').scopes.includes('admin');
      return jsonResponse(c, { items: auditTrailView(rows, { isOperator }) });
    });
}
