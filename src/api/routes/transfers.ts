import { Hono } from 'hono';
import { AppError } from '../../errors.ts';
import { createTransfer } from '../../processors/transfers/create-transfer.ts';
import { transferView } from '../../processors/transfers/transfer-view.ts';
import { findTransfer } from '../../store/transfers.ts';
import type { ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';
import { operationRoute } from '../operation-route.ts';
import { readId } from '../read-id.ts';

export function transferRoutes(parts: ApiParts): Hono<ApiEnv> {
  return new Hono<ApiEnv>().post('/', operationRoute(parts, createTransfer)).get('/:id', async (c) => {
    const transfer = await findTransfer(parts.db, c.get('caller').client, readId(c));
    if (!transfer) throw new AppError('NOT_FOUND', 'There is no such transfer.');
    return jsonResponse(c, transferView(transfer));
  });
}
