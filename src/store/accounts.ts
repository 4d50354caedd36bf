import { type Generated, type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Instant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

export interface AccountsTable {
  id: string;
  client: string;
  kind: 'customer' | 'system';
  owner: string;
  currency: string;
  /** Null for a system account, whose balance is the sum of its movements. */
  balance: number | null;
  overdraft_limit: number;
  version: Generated<number>;
  created_at: Instant;
}

export interface NewAccount {
  id: string;
  client: string;
  owner: string;
  currency: string;
  openingBalance: number;
  overdraftLimit: number;
}

export type AccountRow = Omit<Selectable<AccountsTable>, 'balance'> & { balance: number };

export async function insertAccount(tx: DatabaseTransaction, account: NewAccount): Promise<AccountRow> {
  const row = await tx
    .insertInto('accounts')
    .values({
      id: account.id,
      client: account.client,
      kind: 'customer',
      owner: account.owner,
      currency: account.currency,
      balance: account.openingBalance,
      overdraft_limit: account.overdraftLimit,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { ...row, balance: account.openingBalance };
}

/** The account that opening balances of a client and currency are taken from, made on first use. */
export async function ensureSystemAccount(tx: DatabaseTransaction, client: string, currency: string): Promise<string> {
  await tx
    .insertInto('accounts')
    .values({ id: uuidv7(), client, kind: 'system', owner: 'system', currency, balance: null, overdraft_limit: 0 })
    .onConflict((conflict) => conflict.columns(['client', 'currency']).where('kind', '=', 'system').doNothing())
    .execute();
  const row = await tx
    .selectFrom('accounts')
    .select('id')
    .where('client', '=', client)
    .where('currency', '=', currency)
    .where('kind', '=', 'system')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function findAccount(db: Database, client: string, id: string): Promise<AccountRow | undefined> {
  return await db
    .selectFrom('accounts')
    .selectAll()
    .select(sql<number>`balance`.as('balance'))
    .where('id', '=', id)
    .where('client', '=', client)
    .where('kind', '=', 'customer')
    .executeTakeFirst();
}
