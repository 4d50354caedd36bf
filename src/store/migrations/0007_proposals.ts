import { type Kysely, sql } from 'kysely';

/** Proposals to customers. A proposal has the id of the operation that made it; its version grows with each change. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table proposals (
      id uuid primary key,
      client text not null,
      customer_id uuid not null,
      amount bigint not null check (amount between 1 and 9007199254740991),
      status text not null default 'DRAFT' check (status in ('DRAFT', 'SUBMITTED', 'ACCEPTED', 'REJECTED')),
      version integer not null default 1 check (version >= 1),
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      foreign key (client, customer_id) references customers (client, id)
    )`.execute(db);
  // One for each way to list them: all, those of a customer, those in a state.
  await sql`create index proposals_listing on proposals (client, id desc)`.execute(db);
  await sql`create index proposals_of_customer on proposals (client, customer_id, id desc)`.execute(db);
  await sql`create index proposals_in_status on proposals (client, status, id desc)`.execute(db);
}
