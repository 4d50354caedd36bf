import { type Kysely, sql } from 'kysely';

/** Customers of a client. A customer has the id of the operation that made it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // (client, id) is for lists, and for proposals to refer to, so that none can belong to a customer of another client.
  await sql`
    create table customers (
      id uuid primary key,
      client text not null,
      name text not null,
      email text not null,
      document text,
      created_at timestamptz not null default now(),
      unique (client, id)
    )`.execute(db);
  await sql`create unique index customers_email on customers (client, lower(email))`.execute(db);
}
