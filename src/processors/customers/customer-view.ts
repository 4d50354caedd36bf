import { type CustomerRow, readCustomer } from '../../store/customers.ts';
import type { Database } from '../../store/database.ts';

export function customerView(customer: CustomerRow) {
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
