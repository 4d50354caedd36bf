import { z } from 'zod';
import { type CustomerRow, readCustomer } from '../../store/customers.ts';
import type { Database } from '../../store/database.ts';
import { id, instant } from '../fields.ts';

export const customerSchema = z
  .strictObject({ id, name: z.string(), email: z.string(), document: z.string().nullable(), createdAt: instant })
  .meta({ id: 'Customer' });

export function customerView(customer: CustomerRow): z.infer<typeof customerSchema> {
  return {
    id: customer.id,
    name: customer.name,
    email: customer.email,
    document: customer.document,
    createdAt: customer.created_at.toISOString(),
  };
}

/** What a replay shows: the customer as it is now. */
export async function showCustomer(db: Database, id: string) {
  const customer = await readCustomer(db, id);
  return customer && customerView(customer);
}
