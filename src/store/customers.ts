import { type Selectable, sql } from 'kysely';
import type { Instant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

export interface CustomersTable {
  id: string;
  client: string;
  name: string;
  /** As it was given. It is unique within a client in any case of its letters. */
  email: string;
  document: string | null;
  created_at: Instant;
}

export type CustomerRow = Selectable<CustomersTable>;

export type NewCustomer = Omit<CustomerRow, 'created_at'>;

/** Undefined if a customer of the client has the email already. It waits for one that is about to commit. */
export async function insertCustomer(tx: DatabaseTransaction, customer: NewCustomer): Promise<CustomerRow | undefined> {
  return await tx
    .insertInto('customers')
    .values(customer)
    .onConflict((conflict) => conflict.expression(sql`client, lower(email)`).doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function findCustomer(db: Database, client: string, id: string): Promise<CustomerRow | undefined> {
  return await db
    .selectFrom('customers')
    .selectAll()
    .where('id', '=', id)
    .where('client', '=', client)
    .executeTakeFirst();
}

/** By its id alone: for a replay, whose record says that the caller owns it. */
export async function readCustomer(db: Database, id: string): Promise<CustomerRow | undefined> {
  return await db.selectFrom('customers').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Newest first. `before` is the last id of the page before. */
export async function listCustomers(
  db: Database,
  client: string,
  page: { limit: number; before: string | undefined },
): Promise<CustomerRow[]> {
  let query = db.selectFrom('customers').selectAll().where('client', '=', client);
  if (page.before) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}
