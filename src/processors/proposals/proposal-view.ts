import type { Database } from '../../store/database.ts';
import { type ProposalRow, readProposal } from '../../store/proposals.ts';

export function proposalView(proposal: ProposalRow) {
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
