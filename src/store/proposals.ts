import { type Generated, type Selectable, sql } from 'kysely';
import type { Instant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

export const proposalStatuses = ['DRAFT', 'SUBMITTED', 'ACCEPTED', 'REJECTED'] as const;
export type ProposalStatus = (typeof proposalStatuses)[number];

export interface ProposalsTable {
  id: string;
  client: string;
  customer_id: string;
  amount: number;
  status: Generated<ProposalStatus>;
  version: Generated<number>;
  created_at: Instant;
  updated_at: Instant;
}

export type ProposalRow = Selectable<ProposalsTable>;

export interface NewProposal {
  id: string;
  client: string;
  customerId: string;
  amount: number;
}

export interface ProposalTransition {
  id: string;
  client: string;
  /** The version that the caller saw. */
  version: number;
  from: ProposalStatus;
  to: ProposalStatus;
}

export interface ProposalFilter {
  customerId?: string | undefined;
  status?: ProposalStatus | undefined;
}

/** Undefined if the client has no such customer. */
export async function insertProposal(tx: DatabaseTransaction, proposal: NewProposal): Promise<ProposalRow | undefined> {
  return await tx
    .insertInto('proposals')
    .columns(['id', 'client', 'customer_id', 'amount'])
    .expression((eb) =>
      eb
        .selectFrom('customers')
        .select([
          sql<string>`${proposal.id}::uuid`.as('id'),
          'customers.client',
          'customers.id as customer_id',
          sql<number>`${proposal.amount}::bigint`.as('amount'),
        ])
        .where('customers.id', '=', proposal.customerId)
        .where('customers.client', '=', proposal.client),
    )
    .returningAll()
    .executeTakeFirst();
}

/** The one way to change a proposal. Of any number that saw the same version, one gets the row and the others nothing. */
export async function updateProposalStatus(
  tx: DatabaseTransaction,
  transition: ProposalTransition,
): Promise<ProposalRow | undefined> {
  return await tx
    .updateTable('proposals')
    // Not now(): that is when the transaction began, which may be before the last change.
    .set((eb) => ({ status: transition.to, version: eb('version', '+', 1), updated_at: sql<Date>`clock_timestamp()` }))
    .where('id', '=', transition.id)
    .where('client', '=', transition.client)
    .where('version', '=', transition.version)
    .where('status', '=', transition.from)
    .returningAll()
    .executeTakeFirst();
}

export async function findProposal(db: Database, client: string, id: string): Promise<ProposalRow | undefined> {
  return await db
    .selectFrom('proposals')
    .selectAll()
    .where('id', '=', id)
    .where('client', '=', client)
    .executeTakeFirst();
}

/** By its id alone: for a replay, whose record says that the caller owns it. */
export async function readProposal(db: Database, id: string): Promise<ProposalRow | undefined> {
  return await db.selectFrom('proposals').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Newest first. `before` is the last id of the page before, so what is added meanwhile shifts no page. */
export async function listProposals(
  db: Database,
  client: string,
  filter: ProposalFilter,
  page: { limit: number; before: string | undefined },
): Promise<ProposalRow[]> {
  let query = db.selectFrom('proposals').selectAll().where('client', '=', client);
  if (filter.customerId) query = query.where('customer_id', '=', filter.customerId);
  if (filter.status) query = query.where('status', '=', filter.status);
  if (page.before) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}
