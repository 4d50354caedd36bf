import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { createCustomer } from '../../processors/customers/create-customer.ts';
import { customerView } from '../../processors/customers/customer-view.ts';
import { findCustomer, listCustomers } from '../../store/customers.ts';
import type { ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';
import { operationRoute } from '../operation-route.ts';
import { decodeCursor, pageQuery, toPage } from '../paging.ts';
import { readId } from '../read-id.ts';
import { validate } from '../read-json.ts';

export const customersQuery = z.strictObject(pageQuery);

export function customerRoutes(parts: ApiParts): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .post('/', operationRoute(parts, createCustomer))
    .get('/', async (c) => {
      const { limit, cursor } = validate(customersQuery, c.req.query());
      const before = decodeCursor(cursor, z.uuid());
      const rows = await listCustomers(parts.db, c.get('caller').client, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, customerView));
    })
    .get('/:id', async (c) => {
      const customer = await findCustomer(parts.db, c.get('caller').client, readId(c));
      if (!customer) throw new AppError('NOT_FOUND', 'There is no such customer.');
      return jsonResponse(c, customerView(customer));
    });
}
