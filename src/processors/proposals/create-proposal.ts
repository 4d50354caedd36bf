import { z } from 'zod';
import { insertProposal } from '../../store/proposals.ts';
import { defineOperation, printableKey } from '../define-operation.ts';
import { amount, id } from '../fields.ts';
import { rejected, succeeded } from '../outcomes.ts';
import { proposalSchema, proposalView, showProposal } from './proposal-view.ts';

export const createProposal = defineOperation({
  name: 'proposal.create',
  request: z.strictObject({ customerId: id, amount }),
  success: { status: 201, body: proposalSchema },
  rejects: ['CUSTOMER_NOT_FOUND'],
  key: { required: false, pattern: printableKey },
  onMismatch: 'replay',
  replay: showProposal,
  process: async (request, { tx, record }) => {
    const proposal = await insertProposal(tx, { id: record.id, client: record.client, ...request });
    if (!proposal) return rejected('CUSTOMER_NOT_FOUND', `There is no customer ${request.customerId}.`);
    return succeeded(201, proposalView(proposal), { resource: { type: 'proposal', id: proposal.id } });
  },
});
