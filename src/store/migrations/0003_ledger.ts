import { type Kysely, sql } from 'kysely';

/** Accounts, transfers and their double-entry movements. An account or transfer has the id of the operation that made it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // A system account is where opening balances come from. It keeps no balance of its own: one row that every
  // opening would have to lock. Its balance is the sum of its movements.
  await sql`
    create table accounts (
      id uuid primary key,
      client text not null,
      kind text not null check (kind in ('customer', 'system')),
      owner text not null,
      currency text not null,
      balance bigint,
      overdraft_limit bigint not null default 0 check (overdraft_limit >= 0),
      version integer not null default 1,
      created_at timestamptz not null default now(),
      check ((kind = 'system') = (balance is null)),
      check (balance >= -overdraft_limit),
      check (balance between -9007199254740991 and 9007199254740991)
    ) with (fillfactor = 70)`.execute(db);
  await sql`create unique index accounts_system on accounts (client, currency) where kind = 'system'`.execute(db);

  await sql`
    create table transfers (
      id uuid primary key,
      client text not null,
      from_account_id uuid not null references accounts,
      to_account_id uuid not null references accounts,
      amount bigint not null check (amount > 0),
      currency text not null,
      description text,
      created_at timestamptz not null default now(),
      check (from_account_id <> to_account_id)
    )`.execute(db);

  await sql`
    create table movements (
      id bigint generated always as identity primary key,
      account_id uuid not null references accounts,
      operation_id uuid not null,
      kind text not null check (kind in ('opening', 'transfer')),
      amount bigint not null check (amount <> 0),
      balance_after bigint,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index movements_of_account on movements (account_id, id desc)`.execute(db);
}
