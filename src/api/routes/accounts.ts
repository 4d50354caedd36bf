import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { accountView } from '../../processors/accounts/account-view.ts';
import { openAccount } from '../../processors/accounts/open-account.ts';
import { findAccount } from '../../store/accounts.ts';
import { listMovements } from '../../store/movements.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';
import { movementView } from '../movement-view.ts';
import { operationRoute } from '../operation-route.ts';
import { decodeCursor, pageQuery, toPage } from '../paging.ts';
import { readId } from '../read-id.ts';
import { validate } from '../read-json.ts';

export const movementsQuery = z.strictObject(pageQuery);
const movementCursor = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

export function accountRoutes(parts: ApiParts): Hono<ApiEnv> {
  const findOwn = async (c: ApiContext) => {
    const account = await findAccount(parts.db, c.get('caller').client, readId(c));
    if (!account) throw new AppError('NOT_FOUND', 'There is no such account.');
    return account;
  };

  return new Hono<ApiEnv>()
    .post('/', operationRoute(parts, openAccount))
    .get('/:id', async (c) => jsonResponse(c, accountView(await findOwn(c))))
    .get('/:id/movements', async (c) => {
      const { limit, cursor } = validate(movementsQuery, c.req.query());
      const account = await findOwn(c);
      const before = decodeCursor(cursor, movementCursor);
      const rows = await listMovements(parts.db, account.id, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, movementView));
    });
}
