import { z } from 'zod';
import type { Database } from '../../store/database.ts';
import { type ProposalRow, proposalStatuses, readProposal } from '../../store/proposals.ts';
import { amount, id, instant } from '../fields.ts';

export const proposalSchema = z
  .strictObject({
    id,
    customerId: id,
    amount,
    status: z.enum(proposalStatuses),
    version: z.int().describe('Grows with each change. Name the one that you saw when you change it.'),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Proposal' });

export function proposalView(proposal: ProposalRow): z.infer<typeof proposalSchema> {
  return {
    id: proposal.id,
    customerId: proposal.customer_id,
    amount: proposal.amount,
    status: proposal.status,
    version: proposal.version,
    createdAt: proposal.created_at.toISOString(),
    updatedAt: proposal.updated_at.toISOString(),
  };
}

/** What a replay shows: the proposal as it is now, whatever the first answer said. */
export async function showProposal(db: Database, id: string) {
  const proposal = await readProposal(db, id);
  return proposal && proposalView(proposal);
}
